import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sampleBundle, sampleKey } from '../support/bundles.js'
import { runCommand } from '../support/command.js'
import { dataFolder } from '../support/data-folder.js'
import { gatewayForFile } from '../support/gateway.js'
import { send, validSend } from '../support/requests.js'

const { database, gateway, account } = await gatewayForFile()
const inFolder = (name: string, bytes: Uint8Array): string => {
  const path = join(dataFolder(), name)
  writeFileSync(path, bytes)
  return path
}
/** Neither a database nor settings: what is there would be refused. */
const verify = (...args: string[]) => runCommand(['verify', ...args], 'postgresql://nobody@127.0.0.1:1/none', { PORT: 'x' })

test('a whole bundle: 0, what holds, what is proven and what is not', async () => {
  const { bytes, notification } = await sampleBundle({ seed: 0 })
  const { status, stdout, stderr } = await verify(inFolder('whole.zip', bytes), '--key', sampleKey.vkey)
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toContain(notification)
  expect(stdout).toMatch(/^confere {2}Cadeia de eventos: /m)
  expect(stdout).toMatch(/FICA PROVADO[\s\S]*NÃO FICA PROVADO[\s\S]*RESULTADO: tudo confere\.\n$/)
})

test('a damaged one: 1, and the first thing that does not hold', async () => {
  const { bytes } = await sampleBundle({ seed: 0, edit: files => void files.set('content/2-email.eml', Buffer.from('x')) })
  const { status, stdout } = await verify(inFolder('damaged.zip', bytes))
  expect(status).toBe(1)
  expect(stdout).toMatch(/^FALHA {4}Conteúdo, anexos e gravações: O arquivo content\/2-email\.eml não é o que foi registrado/m)
  expect(stdout).toMatch(/RESULTADO: algo não confere\. O arquivo content\/2-email\.eml .*\.\n$/)
  expect(stdout).not.toContain('FICA PROVADO\n  - Os eventos')
})

test('--json: the same for programs, with the names of the steps', async () => {
  const { bytes } = await sampleBundle({ seed: 0 })
  const path = inFolder('other.zip', bytes)
  const whole = await verify(path, '--json')
  expect([whole.status, JSON.parse(whole.stdout)]).toMatchObject([
    0,
    { holds: true, document: null, bundle: { fault: null, key: sampleKey.vkey } },
  ])
  const foreign = await verify(path, '--json', '--key', sampleKey.vkey.replace('example.com', 'example.org'))
  expect([foreign.status, JSON.parse(foreign.stdout)]).toMatchObject([
    1,
    { holds: false, bundle: { fault: { step: 'signature', subject: 'keys.json' } } },
  ])
})

test('a file that is not there, or is something else: 2, with the reason', async () => {
  expect(await verify(join(dataFolder(), 'none.zip'))).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('ENOENT'),
  })
  const text = inFolder('letter.txt', Buffer.from('Prezados,'))
  expect(await verify(text)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('não é um pacote de evidências (ZIP) nem um PDF'),
  })
})

test('carteiro evidence writes the bundle that the API gives, and it is verified; an unknown id is named', async () => {
  const folder = dataFolder()
  const answer = await send(gateway.url, account.token, validSend)
  const { idEmail } = answer.body as { idEmail: string }
  const out = join(folder, 'made.zip')
  const made = await runCommand(['evidence', idEmail, '--out', out, '--json'], database.url)
  expect([made.status, made.stderr]).toEqual([0, ''])
  expect(JSON.parse(made.stdout)).toEqual({ file: out, size: readFileSync(out).length })
  expect((await verify(out)).status).toBe(0)
  const unknown = await runCommand(
    ['evidence', '019a0000-0000-7000-8000-000000000001', '--out', join(folder, 'no.zip')],
    database.url,
  )
  expect([unknown.status, unknown.stderr]).toEqual([1, expect.stringContaining('Não existe a notificação')])
  expect(readdirSync(folder).filter(name => /^no\.zip|\.part$/.test(name))).toEqual([])
})
