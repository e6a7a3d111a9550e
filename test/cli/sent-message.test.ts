import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { dataFolder } from '../support/database/data-folder.js'
import { runCommand } from '../support/gateway/command.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { endWork, ScriptedCarrier, startTestWorker, type TestWorker } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'

/** carteiro sent-message: what a court gets, checked as docs/evidence.md says. */
const { database, gateway, account } = await gatewayForFile()
const SECRET = 'a1b2c3d4e5'
const TEXT = `Aviso: https://x.example/s/${SECRET}`
let worker: TestWorker | undefined

afterEach(() => endWork(database.pool, worker))

const run = (...args: string[]) => runCommand(['sent-message', ...args], database.url)

async function sendOne(): Promise<string> {
  const carrier = new ScriptedCarrier()
  carrier.contentOf = () => ({ type: 'text/plain', extension: 'txt', bytes: Buffer.from(TEXT), secrets: [SECRET] })
  worker = startTestWorker(database.pool, [{ carrier }])
  const { idEmail } = (await send(gateway.url, account.token, validSend)).body as { idEmail: string }
  await expect.poll(async () => (await contentOf(idEmail))?.hidden).toBe(SECRET.length)
  return idEmail
}

const contentOf = async (id: string) =>
  (
    await database.pool.query<{ content: { hidden: number; secret: string } }>(
      "select data -> 'content' as content from event where notification_id = $1 and type = 'sent'",
      [id],
    )
  ).rows[0]?.content

test('the message as it left is written with the salt that proves it, for its owner alone, and the log of actions says who read it and why', async () => {
  const id = await sendOne()
  const file = join(dataFolder(), 'mensagem.txt')
  const { status, stdout } = await run(id, '--channel', 'email', '--reason', 'Processo 0001', '--out', file, '--json')
  expect(status).toBe(0)
  const shown = JSON.parse(stdout) as { salt: string }
  expect(shown).toEqual({
    file,
    message: 1,
    contentType: 'text/plain',
    size: TEXT.length,
    salt: expect.stringMatching(/^[0-9a-f]{32}$/),
  })
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([TEXT, 0o600])
  const at = TEXT.indexOf(SECRET)
  const opened = createHash('sha256')
    .update(Buffer.from(shown.salt, 'hex'))
    .update(`[[${at},${SECRET.length}]]${SECRET}`)
    .digest('hex')
  expect((await contentOf(id))!.secret).toBe(opened)
  const { rows } = await database.pool.query("select actor, subject, detail from audit where action = 'sent-message'")
  expect(rows).toEqual([
    { actor: expect.stringMatching(/^command:/), subject: id, detail: { channel: 'email', message: 1, reason: 'Processo 0001' } },
  ])
})

test('what is missing or wrong is named, and nothing is written', async () => {
  const id = await sendOne()
  const file = join(dataFolder(), 'nada.txt')
  const reason = ['--reason', 'Processo 0001', '--out', file]
  const unknown = crypto.randomUUID()
  for (const [args, problem] of [
    [[id, '--channel', 'sms', ...reason], `Nada saiu por sms na notificação ${id}`],
    [[unknown, '--channel', 'email', ...reason], `Nada saiu por email na notificação ${unknown}`],
    [[id, '--channel', 'email', '--message', '2', ...reason], 'informe --message de 1 a 1'],
    [[id, '--channel', 'email', '--message', '0', ...reason], '--message deve ser um número inteiro a partir de 1'],
    [[id, '--channel', 'email', '--reason', ' '], 'Diga por que com --reason'],
    [[id, '--channel', 'email'], '--reason'],
    [['x', '--channel', 'email', ...reason], 'Informe o idEmail'],
  ] as const) {
    const { status, stderr } = await run(...args)
    expect([args, status, stderr]).toEqual([args, 1, expect.stringContaining(problem)])
  }
  expect(() => statSync(file)).toThrow()
})
