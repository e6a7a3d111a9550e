import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { findDkimKey } from '../../../src/channels/email/dkim/key-store.js'
import { generateDkimKey, saveDkimKey, startSigning } from '../../../src/channels/email/dkim/keys.js'
import { dkimRecord } from '../../../src/channels/email/dkim/signing-key.js'
import type { Lookup } from '../../../src/channels/email/resolver.js'
import { checkActionLog } from '../../../src/engine/record/action-log.js'
import { addSuppression } from '../../../src/store/accounts/suppressions.js'
import { readAudit } from '../../../src/store/audit.js'
import { reportHealth } from '../../../src/store/carrier/health.js'
import { addTarget, failTarget } from '../../../src/store/evidence/checkpoint-targets.js'
import { transaction } from '../../../src/store/postgres.js'
import { type ConsoleClient, clientWith, consoleClient } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile, gatewayForTest, testKeys } from '../../support/gateway/gateway.js'
import { receiverForTest, refuseWith } from '../../support/gateway/receiver.js'
import { send, validSend } from '../../support/gateway/requests.js'
import { startTestDeliverer } from '../../support/gateway/webhooks.js'

/** What operators see and do on the screens of webhooks, carriers and operations; who may, and that the log of actions tells of it. */
const env = { WEBHOOK_ALLOWED_RANGES: '127.0.0.0/8' }
const { database, gateway, account } = await gatewayForFile({ env })
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url)
const auditor = await consoleClient(pool, url, { email: 'auditor@example.com', role: 'auditor' })
const sender = await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id })
const other = await createAccount(pool)

const accept = async (token = account.token): Promise<string> =>
  ((await send(url, token, validSend)).body as { idEmail: string }).idEmail
const actions = async (): Promise<string[]> => (await readAudit(pool, 0, 1_000)).map(({ actor, action }) => `${actor} ${action}`)
const draft = (target: string, of = account.id) => ({
  account: of,
  mode: 'live',
  url: target,
  version: 'v2',
  channels: [],
  statuses: [],
})
type Rows<Row> = { rows: Row[]; cursor: string | null }
const rowsOf = async <Row>(client: ConsoleClient, path: string): Promise<Row[]> =>
  ((await client.get(path)).body as Rows<Row>).rows

test('the log of actions names a new webhook without the query of its url, which may be as long as the API allows', async () => {
  const start = 'https://sistema.example.com/avisos?token='
  const url = start + 'x'.repeat(2_048 - start.length)
  const { id } = (await operator.post('/webhooks', draft(url))).body as { id: string }
  const { rows } = await pool.query("select detail->>'url' as url from audit where action = 'webhook create' and subject = $1", [
    id,
  ])
  expect(rows).toEqual([{ url: 'https://sistema.example.com/avisos' }])
  const other = await operator.put(`/webhooks/${id}`, { url: `${url}x` })
  expect(other.body).toMatchObject({ statusCode: 400, message: 'O campo url passa do limite de 2048 caracteres.' })
  await operator.delete(`/webhooks/${id}`)
})

test('webhooks: the secret is told once, a test and a replay arrive, and every act is in the log of actions', async () => {
  const receiver = await receiverForTest()
  const deliverer = startTestDeliverer(pool, {}, env)
  onTestFinished(() => deliverer.stop())
  const made = (await operator.post('/webhooks', draft(receiver.url))).body as { id: string; secret: string }
  expect(made.secret).toMatch(/^whsec_/)
  expect(JSON.stringify((await operator.get('/webhooks')).body)).not.toContain(made.secret)
  const { message } = (await operator.post(`/webhooks/${made.id}/test`)).body as { message: string }
  type Attempt = { message: string; error: string | null; notification: string | null; state: string }
  const attempts = () => rowsOf<Attempt>(operator, `/webhooks/${made.id}/attempts`)
  await expect.poll(attempts).toMatchObject([{ message, error: null, notification: null, state: 'done' }])
  expect((await operator.post(`/webhooks/${made.id}/replay`, { message })).body).toEqual({ messages: 1 })
  await expect.poll(() => receiver.got.length).toBe(2)
  const since = new Date(Date.now() - 60_000).toISOString()
  await expect.poll(async () => (await attempts()).length).toBe(2)
  expect((await operator.post(`/webhooks/${made.id}/replay`, { since, missedOnly: false })).body).toEqual({ messages: 1 })
  await expect.poll(() => receiver.got.length).toBe(3)
  const { secret } = (await operator.post(`/webhooks/${made.id}/rotate`)).body as { secret: string }
  expect(secret).not.toBe(made.secret)
  expect((await operator.put(`/webhooks/${made.id}`, { active: false })).status).toBe(200)
  expect((await operator.post(`/webhooks/${made.id}/test`)).status).toBe(409)
  expect((await operator.delete(`/webhooks/${made.id}`)).status).toBe(200)
  expect(await rowsOf(operator, '/webhooks')).toEqual([])
  const told = await actions()
  for (const act of ['create', 'test', 'replay', 'rotate', 'edit', 'delete'])
    expect(told).toContain(`operator:ana@example.com webhook ${act}`)
  // The refused test left nothing behind.
  expect(told.filter(action => action.endsWith('webhook test'))).toHaveLength(1)
})

test('an endpoint that answers 410 is suspended, and the log of actions stays whole', async () => {
  const receiver = await receiverForTest(refuseWith(410))
  const deliverer = startTestDeliverer(pool, {}, env)
  onTestFinished(() => deliverer.stop())
  const { id } = (await operator.post('/webhooks', draft(receiver.url))).body as { id: string }
  await operator.post(`/webhooks/${id}/test`)
  await expect
    .poll(() => rowsOf(operator, '/webhooks'))
    .toMatchObject([{ id, active: false, reason: 'gone', last: { status: 410 } }])
  expect(await actions()).toContain('worker webhook suspend')
  expect((await checkActionLog(pool)).fault).toBeNull()
})

test('nobody touches the webhook of another account, and an auditor changes nothing', async () => {
  const { id } = (await operator.post('/webhooks', draft('https://127.0.0.1/avisos', other.id))).body as { id: string }
  for (const path of [`/webhooks/${id}/rotate`, `/webhooks/${id}/test`]) {
    expect((await sender.post(path)).status, path).toBe(404)
    expect((await auditor.post(path)).status, path).toBe(403)
  }
  expect((await sender.get(`/webhooks/${id}/attempts`)).status).toBe(404)
  expect((await sender.put(`/webhooks/${id}`, { active: false })).status).toBe(404)
  expect((await sender.delete(`/webhooks/${id}`)).status).toBe(404)
  expect((await sender.post(`/webhooks/${id}/replay`, { message: randomUUID() })).status).toBe(404)
  expect((await sender.post('/webhooks', draft('https://127.0.0.1/x', other.id))).status).toBe(404)
  expect((await sender.get(`/webhooks?account=${other.id}`)).status).toBe(404)
  expect((await rowsOf<{ id: string }>(sender, '/webhooks')).map(row => row.id)).not.toContain(id)
  expect((await auditor.get(`/webhooks/${id}/attempts`)).status).toBe(200)
})

const stuck = (client: ConsoleClient, state: string, more = '') =>
  rowsOf<{ notification: string; state: string; recipient: string }>(client, `/operations/deliveries?state=${state}${more}`)

test('what is held back is shown with its reason, to a sender only what concerns its own account', async () => {
  await pool.query(
    "insert into hold (channel, account_id, reason, held_by) values ('sms', null, 'texto errado', 'command:ana'), (null, $1, 'pedido do cliente', 'command:ana')",
    [other.id],
  )
  onTestFinished(async () => {
    await pool.query('delete from hold')
  })
  const held = async (client: ConsoleClient) => ((await client.get('/operations/queue')).body as { holds: object[] }).holds
  expect(await held(operator)).toMatchObject([
    { channel: 'sms', account: null, reason: 'texto errado' },
    { channel: null, account: expect.any(String), reason: 'pedido do cliente' },
  ])
  expect(await held(sender)).toMatchObject([{ channel: 'sms', reason: 'texto errado' }])
})

test('of a restored copy, what waits for a person because of it is counted, and nothing that was accepted since', async () => {
  const countOf = async (client: ConsoleClient) => ((await client.get('/operations/queue')).body as { restored: object }).restored
  const [copied, since] = [await accept(), await accept()]
  onTestFinished(async () => {
    await database.tamper('delete from restoration')
    await pool.query("update delivery set state = 'done' where notification_id = any($1)", [[copied, since]])
  })
  await pool.query("update delivery set state = 'unresolved' where notification_id = any($1)", [[copied, since]])
  await database.tamper(
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     select $1, 900, now(), 'unresolved', 'test', '{"channel": "email", "restored": 1, "was": "queued"}', '\\x00', '\\x00', '\\x00', '\\x00'`,
    [copied],
  )
  // Without a copy no event is looked at.
  expect(await countOf(operator)).toEqual({ count: 0, more: false })
  await database.tamper("insert into restoration (cause, detail, held_at) values ('backup', 'x', now())")
  expect([await countOf(operator), await countOf(sender)]).toEqual(Array(2).fill({ count: 1, more: false }))
})

test('a dead letter is tried again and an unknown outcome is settled, each with its entry in the log of actions', async () => {
  const dead = await accept()
  const unknown = await accept()
  await pool.query(
    "update delivery set state = 'dead', failure = 'rejected', failed_at = now(), failure_detail = 'Sem crédito', carrier = 'smtp:x/1' where notification_id = $1",
    [dead],
  )
  await pool.query("update delivery set state = 'unresolved', carrier = 'smtp:x/1' where notification_id = $1", [unknown])
  expect(await stuck(operator, 'dead')).toMatchObject([{ notification: dead, reason: 'Sem crédito', carrier: 'smtp:x/1' }])
  expect(await stuck(auditor, 'unresolved')).toMatchObject([{ notification: unknown }])
  const { rows } = (await operator.get('/operations/queue')).body as { rows: object[] }
  expect(rows).toContainEqual(
    expect.objectContaining({ channel: 'email', state: 'dead', carrier: 'smtp:x/1', count: 1, more: false }),
  )

  const item = (notification: string) => ({ items: [{ notification, channel: 'email' }] })
  expect((await auditor.post('/operations/retry', item(dead))).status).toBe(403)
  expect((await sender.post('/operations/settle', { decision: 'sent', ...item(unknown) })).status).toBe(403)
  expect((await sender.post('/operations/retry', item(dead))).body).toEqual({ recorded: 1, skipped: 0 })
  expect((await operator.post('/operations/retry', item(dead))).body).toEqual({ recorded: 0, skipped: 1 })
  expect((await operator.post('/operations/settle', { decision: 'sent', ...item(unknown) })).body).toEqual({
    recorded: 1,
    skipped: 0,
  })
  expect([await stuck(operator, 'dead'), await stuck(operator, 'unresolved')]).toEqual([[], []])
  const told = (await readAudit(pool, 0, 1_000)).filter(({ action }) => action.startsWith('delivery '))
  expect(told).toMatchObject([
    { actor: 'operator:remetente@example.com', action: 'delivery retry', subject: dead },
    { actor: 'operator:ana@example.com', action: 'delivery sent', subject: unknown },
  ])
  expect((await checkActionLog(pool)).fault).toBeNull()
})

test('a sender decides about its own account alone, and the list goes on where a page ended', async () => {
  const foreign = await accept(other.token)
  const mine = await Promise.all(Array.from({ length: 53 }, () => accept()))
  await pool.query(
    "update delivery set state = 'dead', failure = 'rejected', failed_at = now() where notification_id = any($1)",
    [[foreign, ...mine]],
  )
  const order = { items: [foreign, mine[0]!].map(notification => ({ notification, channel: 'email' })) }
  expect((await sender.post('/operations/retry', order)).status).toBe(404)
  const first = (await sender.get('/operations/deliveries?state=dead')).body as Rows<{ notification: string }>
  const second = await stuck(sender, 'dead', `&cursor=${encodeURIComponent(first.cursor!)}`)
  const seen = [...first.rows, ...second].map(({ notification }) => notification)
  expect(seen.sort()).toEqual([...mine].sort())
  expect((await operator.get('/operations/deliveries?state=dead&cursor=nada')).status).toBe(400)
})

test('a channel or a status that does not exist is refused by the name of its place: a field of the body, or a parameter', async () => {
  const hook = draft('https://127.0.0.1/avisos')
  const item = { notification: crypto.randomUUID(), channel: 'fax' }
  const lifted = { account: account.id, mode: 'live', channel: 'fax', recipient: 'ana@example.com' }
  const stuckAfter = encodeURIComponent(`${item.notification} fax`)
  const refusals: [answer: Promise<{ status: number; body: unknown }>, message: string][] = [
    [operator.post('/webhooks', { ...hook, channels: ['sms', 'fax'] }), 'O campo channels[1] deve ser um destes valores: email'],
    [operator.post('/webhooks', { ...hook, statuses: ['toString'] }), 'O campo statuses[0] deve ser um destes valores: '],
    [operator.post('/operations/retry', { items: [item] }), 'O campo items[0].channel deve ser um destes valores: email'],
    [operator.post('/operations/suppressions/remove', lifted), 'O campo channel deve ser um destes valores: email'],
    [operator.get('/operations/suppressions?channel=fax'), 'O parâmetro channel deve ser um destes: email'],
    [operator.get(`/operations/deliveries?state=dead&cursor=${stuckAfter}`), 'O parâmetro cursor deve ser'],
    [operator.get(`/templates?account=${account.id}&channel=fax`), 'O parâmetro channel deve ser um destes: email'],
  ]
  for (const [answer, message] of refusals)
    expect(await answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(message) } })
})

test('suppressions are listed latest first, found by the contact, and lifted by an operator alone', async () => {
  const contact = (recipient: string, of = account.id) => ({ account: of, mode: 'live' as const, channel: 'email', recipient })
  for (let number = 0; number < 51; number++) await addSuppression(pool, contact(`p${number}@example.com`), 'opt-out')
  await addSuppression(pool, contact('alheio@example.com', other.id), 'complaint')
  const first = (await sender.get('/operations/suppressions')).body as Rows<{ recipient: string }>
  expect(first.rows[0]).toMatchObject({ recipient: 'p50@example.com', reason: 'opt-out', channel: 'email' })
  const rest = await rowsOf<{ recipient: string }>(sender, `/operations/suppressions?cursor=${first.cursor}`)
  expect(new Set([...first.rows, ...rest].map(({ recipient }) => recipient)).size).toBe(51)
  expect(await rowsOf(operator, '/operations/suppressions?recipient=P7@Example.com')).toMatchObject([
    { recipient: 'p7@example.com' },
  ])
  expect((await sender.post('/operations/suppressions/remove', contact('p7@example.com'))).status).toBe(403)
  expect((await operator.post('/operations/suppressions/remove', contact('p7@example.com'))).status).toBe(200)
  expect((await operator.post('/operations/suppressions/remove', contact('p7@example.com'))).status).toBe(404)
  expect(await actions()).toContain('operator:ana@example.com suppression remove')
  expect((await operator.get(`/operations/suppressions?cursor=${Buffer.from('[1]').toString('base64url')}`)).status).toBe(400)
})

test('where checkpoints went and what is kept how long is for operators and auditors', async () => {
  await addTarget(pool, 'file:///arquivo')
  await failTarget(pool, 'file:///arquivo', 'disco cheio', 1_000)
  expect((await auditor.get('/operations/evidence')).body).toMatchObject({
    targets: [{ target: 'file:///arquivo', failures: 1, error: 'disco cheio', size: 0 }],
    retention: expect.arrayContaining([
      expect.objectContaining({ setting: 'WEBHOOK_DAYS', days: 30 }),
      { what: 'Contas: Prazo: dados pessoais', setting: 'retention.events', days: 3_650 },
    ]),
  })
  for (const path of ['/operations/evidence', '/carriers', '/carriers/setup'])
    expect((await sender.get(path)).status, path).toBe(403)
})

interface SeenCarriers {
  channels: {
    channel: string
    carriers: { carrier: string; testable: boolean; health: object | null; perSecond: number | null }[]
  }[]
}

test('carriers: those of the settings with rate and health, never a credential, and their credentials are tried', async () => {
  let known = 'segredo'
  const server = createServer((request, response) => {
    const right = request.headers.authorization === `Basic ${Buffer.from(`AC1:${known}`).toString('base64')}`
    expect([request.method, request.url]).toEqual(['GET', '/2010-04-01/Accounts/AC1.json'])
    response.writeHead(right ? 200 : 401).end(JSON.stringify({ status: right ? 'active' : 'no' }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const started = await gatewayForTest(pool, {
    VOICE_URL: `twilio://AC1:segredo@127.0.0.1:${port}?from=%2B551140041234&tls=off&rate=7`,
    EMAIL_URL: `smtp://maria:senha-secreta@127.0.0.1:${await closedPort()}?tls=off`,
  })
  const person = clientWith(started.url, operator.email, operator.cookie)
  const read = async () => (await person.get('/carriers')).body as SeenCarriers
  const of = async (name: string) => (await read()).channels.find(({ channel }) => channel === name)!.carriers
  const [voice] = await of('voz')
  expect(voice).toMatchObject({ testable: true, health: null, perSecond: 7 })
  await reportHealth(pool, randomUUID(), [
    { channel: 'voice', mode: 'live', carrier: voice!.carrier, state: 'paused', sent: 3, failed: 2, rate: null },
  ])
  expect(await of('voz')).toMatchObject([
    { carrier: voice!.carrier, health: { state: 'paused', workers: 1, sent: 3, failed: 2 } },
  ])
  expect(JSON.stringify(await read())).not.toMatch(/segredo|senha-secreta/)
  expect(await of('carta')).toEqual([])

  const tried = async (carrier: string) => (await person.post('/carriers/test', { carrier })).body
  expect(await tried(voice!.carrier)).toMatchObject({ ok: true, reason: null, answer: expect.stringContaining('active') })
  known = 'outro'
  expect(await tried(voice!.carrier)).toMatchObject({ ok: false, reason: 'A operadora recusou as credenciais.' })
  const [relay] = await of('email')
  expect(await tried(relay!.carrier)).toMatchObject({ ok: false })
  expect((await person.post('/carriers/test', { carrier: 'smtp:outro/1' })).status).toBe(404)
  expect((await clientWith(started.url, '', auditor.cookie).post('/carriers/test', { carrier: voice!.carrier })).status).toBe(403)
  expect((await actions()).filter(action => action.endsWith('carrier test'))).toHaveLength(3)
})

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

test('DNS: what receivers will find of the sending and the bounce domain, by a resolver that is given', async () => {
  const zone = new Map<string, string[]>()
  let exchangers: Lookup<{ priority: number; exchange: string }> = { status: 'missing' }
  const dns = {
    texts: async (name: string): Promise<Lookup<string>> =>
      zone.has(name) ? { status: 'ok', records: zone.get(name)! } : { status: 'missing' },
    resolver: {
      exchangers: async () => exchangers,
      addresses: async (): Promise<Lookup<string>> => ({ status: 'ok', records: ['192.0.2.1'] }),
    },
  }
  const settings = {
    EMAIL_URL: 'smtp://127.0.0.1:1?tls=off',
    EMAIL_FROM: 'aviso@correio.empresa.test',
    BOUNCE_DOMAIN: 'retorno.empresa.test',
  }
  const started = await gatewayForTest(pool, settings, { channelOptions: { email: dns } })
  const person = clientWith(started.url, auditor.email, auditor.cookie)
  const states = async (): Promise<Record<string, string>> => {
    const { checks } = (await person.get('/carriers/setup')).body as {
      checks: { name: string; subject: string; state: string }[]
    }
    return Object.fromEntries(checks.map(({ name, subject, state }) => [`${name} ${subject}`, state]))
  }
  const [bounce, from] = ['retorno.empresa.test', 'correio.empresa.test']
  const all = (spf: string, mx: string, dkim: string, dmarc: string) => ({
    [`SPF ${bounce}`]: spf,
    [`MX ${bounce}`]: mx,
    [`DKIM ${from}`]: dkim,
    [`DMARC ${from}`]: dmarc,
  })
  expect(await states()).toEqual(all('bad', 'bad', 'bad', 'bad'))
  const key = generateDkimKey({ domain: 'empresa.test', selector: 's1' }, 'ed25519')
  await saveDkimKey(pool, testKeys.sealing, key)
  await transaction(pool, async db => startSigning(db, (await findDkimKey(db, key))!))
  const { name, value } = dkimRecord(key)
  zone.set(name, [value]).set(bounce, ['v=spf1 include:_spf.example.net']).set('_dmarc.empresa.test', ['v=DMARC1; p=none'])
  exchangers = { status: 'ok', records: [{ priority: 10, exchange: 'mx.empresa.test' }] }
  expect(await states()).toEqual(all('warn', 'good', 'good', 'warn'))
  zone
    .set(bounce, ['v=spf1 include:_spf.example.net -all'])
    .set('_dmarc.empresa.test', ['v=DMARC1; p=reject'])
    .set(name, ['v=DKIM1; p=AAAA'])
  exchangers = { status: 'unknown' }
  expect(await states()).toEqual(all('good', 'unknown', 'bad', 'good'))
  zone.set(bounce, ['v=spf1 -all', 'v=spf1 +all'])
  expect((await states())[`SPF ${bounce}`]).toBe('bad')
  // Without a real carrier nobody outside asks, and neither do we.
  expect((await operator.get('/carriers/setup')).body).toEqual({ checks: null })
})
