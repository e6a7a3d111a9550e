import { createPrivateKey } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readCertificate } from '../../src/evidence/signature/certificate-facts.js'
import { signingKey } from '../../src/evidence/signature/key/private-key.js'
import { dataFolder } from '../support/database/data-folder.js'
import { sampleBundle, sampleKey } from '../support/evidence/bundles.js'
import { createCertification } from '../support/evidence/certification.js'
import { aboutNow, openSigning, type Signing } from '../support/evidence/document-signing.js'
import { typstPdf } from '../support/evidence/typst.js'
import { runCommand } from '../support/gateway/command.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { needPrograms } from '../support/programs/needed-programs.js'

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

describe.runIf(needPrograms('openssl'))('a PDF without the bundle inside', () => {
  let signing: Signing
  beforeAll(async () => {
    signing = await openSigning()
  })
  afterAll(() => signing.close())
  const signed = async (key = signing.key) =>
    inFolder('assinado.pdf', (await signing.signerWith(key, []).sign(typstPdf('a-2b'), aboutNow())).pdf)

  test('holds by its signature alone, and nothing more is said of it', async () => {
    const { status, stdout } = await verify(await signed())
    expect(status).toBe(0)
    expect(stdout).toMatch(
      /De quem é o certificado, compare com o que o remetente publica\.[\s\S]*RESULTADO: a assinatura do PDF confere\.\n$/,
    )
    expect(stdout).not.toContain('tudo confere')
  })

  test('has nothing to compare with --key: 1, and the result says so', async () => {
    const path = await signed()
    const { status, stdout } = await verify(path, '--key', sampleKey.vkey)
    expect(status).toBe(1)
    expect(stdout).toMatch(/RESULTADO: a chave de --key não foi comparada com nada/)
    const told = await verify(path, '--key', sampleKey.vkey, '--json')
    expect([told.status, JSON.parse(told.stdout)]).toMatchObject([
      1,
      { holds: false, isKeyUnused: true, document: { problem: null } },
    ])
  })

  test('of a certificate with the names of ICP-Brasil is said to declare it, with the chain not checked', async () => {
    const icp = createCertification('/C=BR/O=ICP-Brasil/CN=AC de mentira')
    onTestFinished(() => icp.remove())
    const { certFile, keyFile } = icp.issue({
      name: 'falso',
      extensions: ['keyUsage = critical, digitalSignature, nonRepudiation', 'certificatePolicies = 2.16.76.1.2.1.1'],
    })
    const key = signingKey(createPrivateKey(readFileSync(keyFile)), readCertificate(readFileSync(certFile)), [])
    expect((await verify(await signed(key))).stdout).toContain('que se declara da ICP-Brasil; a cadeia dele não se confere aqui')
    const own = signing.issueKey({ name: 'eu', selfSigned: true })
    expect((await verify(await signed(own))).stdout).toContain('certificado emitido por si mesmo')
  })
})
