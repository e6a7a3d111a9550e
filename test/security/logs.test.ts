import { randomUUID } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ACCEPT_LIMITS } from '../../src/app/accept-store.js'
import { readConfig } from '../../src/app/config.js'
import { openLog } from '../../src/app/log.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { readTotals } from '../../src/store/carrier/totals.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { QUICK_TIMING } from '../support/gateway/lanes.js'
import { request, send } from '../support/gateway/requests.js'
import { rawRequest } from '../support/raw-http.js'

/** Every value is unlike anything else in a log line, so that finding it proves a leak. */
const secrets = {
  name: 'Zulmira Quixabeira',
  email: 'zulmira.quixabeira@exemplo-sigiloso.com.br',
  subject: 'Assunto Reservadissimo',
  content: '<p>conteudo-confidencial-1</p>\n    conteudo-confidencial-2\n',
  number: '11987651234',
  letter: 'Rua Escondida 4711',
  reply: 'resposta-jabuticaba',
  file: 'laudo-restrito.pdf',
}
const traces = [
  'Quixabeira',
  'exemplo-sigiloso',
  'Reservadissimo',
  'conteudo-confidencial',
  '987651234',
  'Escondida',
  'jabuticaba',
  'laudo-restrito',
]

const letterOfSecrets = {
  nameTo: secrets.name,
  to: secrets.email,
  subject: secrets.subject,
  content: secrets.content,
  validation: { question: 'Qual?', reply: secrets.reply },
  sms: { number: secrets.number, customMessage: secrets.content },
  whatsapp: { number: secrets.number, variables: { template: 'x', texto: secrets.content } },
  voz: { number: secrets.number, payload: { texto: secrets.content } },
  carta: { name: secrets.name, variables: { endereco: secrets.letter } },
  attachments: [{ name: secrets.file, base64: Buffer.from(secrets.content).toString('base64') }],
}

let database: TestDatabase
let gateway: Gateway
let account: TestAccount
const lines: string[] = []

beforeAll(async () => {
  database = await createDatabase()
  // At the most talkative level, and without retries while the database refuses.
  gateway = await startGateway(
    database.pool,
    {},
    {
      log: openLog('trace', 'api', { write: line => lines.push(line) }),
      acceptLimits: { ...ACCEPT_LIMITS, retryForMs: 0 },
    },
  )
  account = await createAccount(database.pool, { settings: { validation: true } })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** What was logged since the last call, parsed; any secret in it fails the test. */
function takeLog(...tokens: string[]): Record<string, unknown>[] {
  const taken = lines.splice(0)
  for (const line of taken) {
    for (const trace of traces) expect(line.toLowerCase()).not.toContain(trace.toLowerCase())
    for (const token of [account.token, ...tokens]) {
      for (const part of token.split('.')) if (part.length > 20) expect(line).not.toContain(part)
    }
  }
  return taken.map(line => JSON.parse(line))
}

const logged = (entries: Record<string, unknown>[], message: string): Record<string, unknown>[] =>
  entries.filter(entry => entry.msg === message)

test('an accepted send is logged with its route, status and account, and nothing of what was sent', async () => {
  const { status } = await send(gateway.url, account.token, letterOfSecrets)
  expect(status).toBe(200)
  await expect.poll(() => lines.length).toBeGreaterThan(0)
  expect(logged(takeLog(), 'request')).toMatchObject([
    { method: 'POST', route: '/gw/email', status: 200, account: account.id, role: 'api' },
  ])
})

test('refused sends are logged without what was refused', async () => {
  const refused: [unknown, number][] = [
    [{ ...letterOfSecrets, to: `${secrets.email}, ${secrets.email}` }, 400],
    [{ ...letterOfSecrets, sms: { number: `(11) ${secrets.number}` } }, 400],
    [{ ...letterOfSecrets, customID: secrets.content.repeat(20) }, 400],
    [JSON.stringify(letterOfSecrets).slice(0, -3), 400],
    [`"${secrets.email}`, 400],
    [{ ...letterOfSecrets, attachments: [{ name: `../${secrets.file}`, base64: 'x' }] }, 400],
  ]
  for (const [body, expected] of refused) expect((await send(gateway.url, account.token, body)).status).toBe(expected)
  const key = { 'idempotency-key': secrets.reply }
  expect((await send(gateway.url, account.token, letterOfSecrets, key)).status).toBe(200)
  expect((await send(gateway.url, account.token, { ...letterOfSecrets, subject: 'Outro' }, key)).status).toBe(422)
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(refused.length + 2)
  const statuses = logged(takeLog(), 'request').map(entry => entry.status)
  expect(statuses).toEqual([...refused.map(([, expected]) => expected), 200, 422])
})

test('refused tokens are logged without the token, wherever it was written', async () => {
  const forged = `eyJhbGciOiJFZERTQSJ9.${Buffer.from(JSON.stringify({ forged: randomUUID() })).toString('base64url')}.c2VncmVkby1kZS1hbGd1ZW0tcXVlLW5hby1zb21vcw`
  for (const token of [forged, `Bearer ${account.token}`, `${account.token},${forged}`]) {
    expect((await send(gateway.url, token, letterOfSecrets)).status).toBe(401)
  }
  expect((await request(`${gateway.url}/gw/email?token=${forged}&to=${secrets.email}`)).status).toBe(401)
  const withToken = `${gateway.url}/gw/${encodeURIComponent(secrets.email)}/${secrets.number}?t=${account.token}`
  expect((await request(withToken, { token: account.token })).status).toBe(404)
  expect((await request(`${gateway.url}/outside/${secrets.email}?t=${account.token}`)).status).toBe(404)
  const badPath = await rawRequest(gateway.url, [`GET /gw/${secrets.email}/%zz HTTP/1.1`, `Authorization: ${account.token}`])
  expect(badPath.status).toBe(400)
  const tooLarge = await rawRequest(gateway.url, ['GET /gw/email HTTP/1.1', `Authorization: ${account.token.repeat(60)}`])
  expect(tooLarge.status).toBe(431)
  const malformed = await rawRequest(gateway.url, [`GET /gw/email?${secrets.email} HTTP/9`, `Authorization: ${account.token}`])
  expect(malformed.status).toBe(400)
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(6)
  const entries = takeLog(forged)
  expect(logged(entries, 'request').map(entry => entry.status)).toEqual([401, 401, 401, 401, 404, 404])
})

/** A database that refuses the send with an error of its own, until the test ends. */
async function sendAgainst(setUp: string, tearDown: string): Promise<number> {
  await database.asOwner(setUp)
  try {
    return (await send(gateway.url, account.token, letterOfSecrets)).status
  } finally {
    await database.asOwner(tearDown)
  }
}

const raising = (state: string): string => `
  create function refuse_row() returns trigger language plpgsql as $$ begin
    raise exception E'refused %\\nand % too', new.content, new.recipient_name
      using errcode = '${state}', detail = new.recipient_name, hint = new.subject, constraint = new.content, table = new.content;
  end $$;
  create trigger refuse_row before insert on notification for each row execute function refuse_row()`
const removeTrigger = 'drop function refuse_row cascade'

test('a constraint that fails quotes the whole row in its detail: a 500 is logged with its code and without the row', async () => {
  const status = await sendAgainst(
    `alter table notification add constraint not_wanted check (subject <> '${secrets.subject}') not valid`,
    'alter table notification drop constraint not_wanted',
  )
  expect(status).toBe(500)
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(2)
  const entries = takeLog()
  expect(logged(entries, 'request failed')).toMatchObject([{ err: { code: '23514' } }])
  expect(logged(entries, 'request')).toMatchObject([{ status: 500 }])
})

test('an error whose message itself quotes values, over several lines, is logged with its code and place alone', async () => {
  expect(await sendAgainst(raising('P0001'), removeTrigger)).toBe(500)
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(2)
  const [failure] = logged(takeLog(), 'request failed')
  expect(failure).toMatchObject({ err: { code: 'P0001', stack: expect.stringMatching(/^ +at /) } })
})

test('a database that is out of reach, or out of room, is logged as such: 503 and no values', async () => {
  expect(await sendAgainst(raising('53100'), removeTrigger)).toBe(503)
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(2)
  expect(logged(takeLog(), 'request refused')).toMatchObject([{ err: { code: '53100' } }])
})

test('data that the database cannot hold is 400, and the values are not logged', async () => {
  expect(await sendAgainst(raising('22021'), removeTrigger)).toBe(400)
  await expect.poll(() => lines.length).toBeGreaterThanOrEqual(1)
  expect(logged(takeLog(), 'request')).toMatchObject([{ status: 400 }])
})

test('an attempt that fails is one line with its reason, and nothing of the message or of what the carrier quoted', async () => {
  const smtp = createServer(socket => {
    // Quotes the recipient at every occasion.
    socket.on('error', () => {}).write(`421 4.3.2 sem ${secrets.email} hoje, ${secrets.name}, ${secrets.number}\r\n`)
    socket.end()
  })
  await new Promise<void>(resolve => smtp.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void smtp.close())
  const { port } = smtp.address() as AddressInfo
  const worker = await startWorker({
    config: readConfig({ EMAIL_URL: `smtp://127.0.0.1:${port}?tls=off`, SIMULATOR: 'off' }),
    keys: testKeys,
    pool: database.pool,
    databaseUrl: database.url,
    log: openLog('info', 'worker', { write: line => lines.push(line) }),
    timing: QUICK_TIMING,
    channelOptions: {
      email: { resolver: { exchangers: async () => ({ status: 'unknown' }), addresses: async () => ({ status: 'unknown' }) } },
    },
  })
  lines.splice(0)
  const { idEmail } = (
    await send(gateway.url, account.token, {
      ...letterOfSecrets,
      sms: undefined,
      whatsapp: undefined,
      voz: undefined,
      carta: undefined,
    })
  ).body as { idEmail: string }
  const told = () =>
    lines.map(line => JSON.parse(line)).filter(({ msg, notification }) => msg === 'an attempt failed' && notification === idEmail)
  await expect.poll(() => told().length).toBeGreaterThan(0)
  const [first] = told()
  expect(first).toMatchObject({
    role: 'worker',
    channel: 'email',
    mode: 'live',
    attempt: 1,
    outcome: 'retried',
    code: '421 4.3.2',
  })
  expect(first.reason).toMatch(/\S/)
  await worker.close()
  // The last report of a worker that stops: what it counted is not lost.
  const [total] = await readTotals(database.pool)
  expect(total).toMatchObject({ channel: 'email', mode: 'live', carrier: expect.stringMatching(/^smtp:127\.0\.0\.1/), sent: 0 })
  expect(total!.temporary).toBeGreaterThan(0)
  takeLog()
})
