import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { addSuppression } from '../../src/store/accounts/suppressions.js'
import { type ConsoleClient, consoleClient, consoleRoutes } from '../support/gateway/console.js'
import { createAccount, gatewayForFile, type TestAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

/**
 * What belongs to one account is out of reach under the name of another one, on every route of the console. Each attack is also made by
 * the account that owns the thing, and succeeds: otherwise a wrong path would pass for a refusal.
 */
const { database, gateway, account: own } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const foreign = await createAccount(pool)
const operator = await consoleClient(pool, url, { email: 'operadora@example.com' })
const auditor = await consoleClient(pool, url, { email: 'auditora@example.com', role: 'auditor' })
const senderOf = (account: TestAccount, email: string): Promise<ConsoleClient> =>
  consoleClient(pool, url, { email, role: 'sender', account: account.id })

interface Things {
  account: string
  notification: string
  template: string
  webhook: string
  message: string
  batch: string
  token: string
  session: string
}

async function thingsOf(account: TestAccount, client: ConsoleClient): Promise<Things> {
  const body = { ...validSend, subject: `Segredo de ${account.id}`, customID: `c-${account.id}`, sms: { number: '11987654321' } }
  const { idEmail } = (await send(url, account.token, body)).body as { idEmail: string }
  await pool.query("update delivery set state = 'dead', failure = 'rejected', failed_at = now() where notification_id = $1", [
    idEmail,
  ])
  const template = { name: `Modelo ${account.id}`, channel: 'email', content: 'Olá', variables: null, externalId: null }
  const made = await operator.post(`/templates?account=${account.id}`, { ...template, shared: false })
  const hook = { account: account.id, mode: 'live', url: 'https://127.0.0.1/aviso', version: 'v2', channels: [], statuses: [] }
  const { id: webhook } = (await operator.post('/webhooks', hook)).body as { id: string }
  const { message } = (await operator.post(`/webhooks/${webhook}/test`)).body as { message: string }
  const suppressed = { account: account.id, mode: 'live', channel: 'email', recipient: `s-${account.id}@example.com` } as const
  await addSuppression(pool, suppressed, 'operator')
  const file = {
    method: 'POST',
    path: `/bulk?account=${account.id}&name=lote`,
    body: `Nome;E-mail\n${account.id};a@example.com\n`,
  }
  const batch = JSON.parse((await call(operator, file)).text).id as string
  const { sessions } = (await client.get('/me')).body as { sessions: { id: string }[] }
  const id = { account: account.id, notification: idEmail, template: (made.body as { id: string }).id }
  return { ...id, webhook, message, batch, token: account.jti, session: sessions[0]!.id }
}

const sender = await senderOf(own, 'remetente@example.com')
const neighbour = await senderOf(foreign, 'vizinha@example.com')
const mine = await thingsOf(own, sender)
const theirs = await thingsOf(foreign, neighbour)

/** A call about the things of `of`, by somebody who has `my` account. */
interface Attack {
  method: string
  path: string
  /** A text is a file. */
  body?: object | string
}
const get = (path: string): Attack => ({ method: 'GET', path })
const post = (path: string, body: object = {}): Attack => ({ method: 'POST', path, body })
const put = (path: string, body: object): Attack => ({ method: 'PUT', path, body })
const remove = (path: string): Attack => ({ method: 'DELETE', path })
const contact = (of: Things) => ({ mode: 'live', channel: 'email', recipient: `s-${of.account}@example.com` })
const item = (of: Things) => ({ items: [{ notification: of.notification, channel: 'email' }] })
const step = { channel: 'email', waitMinutes: 0, condition: 'sempre' }

/** Things that only operators change are named with `my` account, where that is possible. */
type Attacks = (of: Things, my: Things) => Attack[]
const bySenders: Readonly<Record<string, Attacks>> = {
  'GET /overview': of => [get(`/overview?account=${of.account}`)],
  'GET /notifications': of => [get(`/notifications?account=${of.account}`)],
  'GET /notifications.csv': of => [get(`/notifications.csv?account=${of.account}`)],
  'GET /notifications/:id': of => [get(`/notifications/${of.notification}`)],
  'GET /notifications/:id/status': of => [get(`/notifications/${of.notification}/status`)],
  'GET /notifications/:id/content': of => [get(`/notifications/${of.notification}/content`)],
  'GET /notifications/:id/contents/:channel/:ordinal': of => [get(`/notifications/${of.notification}/contents/email/1`)],
  'GET /notifications/:id/proof.pdf': of => [get(`/notifications/${of.notification}/proof.pdf`)],
  'GET /notifications/:id/report.pdf': of => [get(`/notifications/${of.notification}/report.pdf`)],
  'GET /notifications/:id/bundle.zip': of => [get(`/notifications/${of.notification}/bundle.zip`)],
  'GET /notifications/:id/verification': of => [get(`/notifications/${of.notification}/verification`)],
  'GET /compose': of => [get(`/compose?account=${of.account}`)],
  'POST /compose/preview': of => [post(`/compose/preview?account=${of.account}`, { request: validSend })],
  'GET /templates': of => [get(`/templates?account=${of.account}`)],
  'GET /templates/:id': (of, my) => [
    get(`/templates/${of.template}?account=${of.account}`),
    get(`/templates/${of.template}?account=${my.account}`),
  ],
  'GET /templates/:id/versions/:version': (of, my) => [
    get(`/templates/${of.template}/versions/1?account=${of.account}`),
    get(`/templates/${of.template}/versions/1?account=${my.account}`),
  ],
  'POST /templates/preview': of => [
    post(`/templates/preview?account=${of.account}`, { channel: 'email', content: 'x', values: {} }),
  ],
  'GET /sequence': of => [get(`/sequence?account=${of.account}`)],
  'POST /sequence/simulation': of => [post(`/sequence/simulation?account=${of.account}`, { steps: [step], reactions: [] })],
  'GET /webhooks': of => [get(`/webhooks?account=${of.account}`)],
  'GET /webhooks/:id/attempts': of => [get(`/webhooks/${of.webhook}/attempts`)],
  'GET /operations/queue': of => [get(`/operations/queue?account=${of.account}`)],
  'GET /operations/deliveries': of => [get(`/operations/deliveries?state=dead&account=${of.account}`)],
  'GET /operations/suppressions': of => [get(`/operations/suppressions?account=${of.account}`)],
  'GET /accounts/:id': of => [get(`/accounts/${of.account}`), get(`/accounts/${of.account.toUpperCase()}`)],
  'GET /accounts/:id/tokens': of => [get(`/accounts/${of.account}/tokens`)],
  'GET /accounts/:id/addresses': of => [get(`/accounts/${of.account}/addresses`)],
  'GET /accounts/:id/samples/:sample': of => [get(`/accounts/${of.account}/samples/pagina`)],
  'POST /compose/send': of => [post(`/compose/send?account=${of.account}`, { key: randomUUID(), request: validSend })],
  'POST /templates': of => [
    post(`/templates?account=${of.account}`, {
      ...{ name: `Outro ${randomUUID()}`, channel: 'email', content: 'x', variables: null, externalId: null, shared: false },
    }),
  ],
  'PUT /templates/:id': (of, my) => [
    put(`/templates/${of.template}?account=${of.account}`, { active: false }),
    put(`/templates/${of.template}?account=${my.account}`, { active: false }),
  ],
  'PUT /sequence': of => [put(`/sequence?account=${of.account}`, { steps: [], revision: '' })],
  'POST /operations/retry': of => [post('/operations/retry', item(of))],
  'POST /notifications/:id/channels/:channel/decision': of => [
    post(`/notifications/${of.notification}/channels/sms/decision`, { decision: 'retry' }),
  ],
  'POST /notifications/:id/finalize': of => [post(`/notifications/${of.notification}/finalize`)],
  'POST /webhooks': of => [
    post('/webhooks', {
      ...{ account: of.account, mode: 'live', url: 'https://127.0.0.1/mal', version: 'v2', channels: [], statuses: [] },
    }),
  ],
  'PUT /webhooks/:id': of => [put(`/webhooks/${of.webhook}`, { version: 'v1' })],
  'POST /webhooks/:id/replay': of => [post(`/webhooks/${of.webhook}/replay`, { message: of.message })],
  'POST /webhooks/:id/rotate': of => [post(`/webhooks/${of.webhook}/rotate`)],
  'POST /webhooks/:id/test': of => [post(`/webhooks/${of.webhook}/test`)],
  'DELETE /webhooks/:id': of => [remove(`/webhooks/${of.webhook}`)],
  'GET /bulk': of => [get(`/bulk?account=${of.account}`)],
  'POST /bulk': of => [
    { method: 'POST', path: `/bulk?account=${of.account}&name=outro`, body: 'Nome;E-mail\nAna;a@example.com\n' },
  ],
  'GET /bulk/:id': of => [get(`/bulk/${of.batch}`)],
  'POST /bulk/:id/check': of => [post(`/bulk/${of.batch}/check`, { base: {}, mapping: {}, channels: [] })],
  'POST /bulk/:id/start': of => [post(`/bulk/${of.batch}/start`, { revision: '' })],
  'POST /bulk/:id/pause': of => [post(`/bulk/${of.batch}/pause`)],
  'POST /bulk/:id/resume': of => [post(`/bulk/${of.batch}/resume`)],
  'POST /bulk/:id/cancel': of => [post(`/bulk/${of.batch}/cancel`)],
  'GET /bulk/:id/rejects.csv': of => [get(`/bulk/${of.batch}/rejects.csv`)],
  'GET /bulk/:id/result.csv': of => [get(`/bulk/${of.batch}/result.csv`)],
  'DELETE /me/sessions/:id': of => [remove(`/me/sessions/${of.session}`)],
}

/** Refused to every sender by their role, also about their own account. */
const byOperators: Readonly<Record<string, Attacks>> = {
  'PUT /accounts/:id/settings': of => [put(`/accounts/${of.account}/settings`, { changes: {} })],
  'PUT /accounts/:id/logo': of => [put(`/accounts/${of.account}/logo`, { data: '' })],
  'DELETE /accounts/:id/logo': of => [remove(`/accounts/${of.account}/logo`)],
  'POST /accounts/:id/tokens': of => [post(`/accounts/${of.account}/tokens`, { mode: 'test', expires: '1d' })],
  'DELETE /accounts/:id/tokens/:jti': (of, my) => [remove(`/accounts/${my.account}/tokens/${of.token}`)],
  'POST /accounts/:id/addresses': of => [post(`/accounts/${of.account}/addresses`, { range: '203.0.113.0/24' })],
  'DELETE /accounts/:id/addresses': of => [remove(`/accounts/${of.account}/addresses?range=127.0.0.0/8`)],
  'POST /operations/settle': of => [post('/operations/settle', { decision: 'sent', ...item(of) })],
  'POST /operations/suppressions/remove': (of, my) => [
    post('/operations/suppressions/remove', { account: my.account, ...contact(of) }),
  ],
}

/** Of the person, of the whole installation, or lists of what the person may see, which another test reads. */
const ofNoAccount = [
  ...['POST /sign-in', 'POST /invitation/look', 'POST /invitation/totp', 'POST /invitation/accept', 'POST /sign-out'],
  ...['GET /me', 'POST /me/new-totp', 'PUT /me/password', 'PUT /me/totp', 'GET /installation', 'GET /live'],
  ...['GET /accounts', 'POST /accounts', 'GET /operators', 'POST /operators/invite', 'DELETE /operators/invitations'],
  ...['PUT /operators/:id/role', 'POST /operators/:id/disable', 'POST /operators/:id/enable', 'POST /operators/:id/end-sessions'],
  ...[
    'GET /audit',
    'GET /audit/chain',
    'GET /carriers',
    'GET /carriers/setup',
    'POST /carriers/test',
    'GET /operations/evidence',
  ],
]
/** test/http/console/simulator.test.ts: they need a simulator. */
const ofSimulator = /^[A-Z]+ \/simulator/

/** As in the API: the template of somebody else is not to be edited, whether or not there is one. */
const FORBIDDEN = 'PUT /templates/:id'

async function call(client: ConsoleClient, { method, path, body }: Attack): Promise<{ status: number; text: string }> {
  const isFile = typeof body === 'string'
  const answer = await fetch(`${url}/console/api${path}`, {
    method,
    headers: {
      ...{ cookie: client.cookie, 'x-carteiro-console': '1', origin: url },
      ...(body === undefined ? {} : { 'content-type': isFile ? 'text/csv' : 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

/** Everything that an account has, as the database stores it. */
async function everythingOf(things: Things): Promise<string> {
  const { rows } = await pool.query(
    `select (select jsonb_agg(to_jsonb(a)) from account a where id = $1) as account,
       (select jsonb_agg(to_jsonb(n) order by n.id) from notification n where account_id = $1) as notifications,
       (select jsonb_agg(to_jsonb(d) order by d.notification_id, d.channel) from delivery d where account_id = $1) as deliveries,
       (select count(*) from event e join notification n on n.id = e.notification_id where n.account_id = $1) as events,
       (select jsonb_agg(to_jsonb(t) order by t.id) from template t where account_id = $1) as templates,
       (select jsonb_agg(to_jsonb(t) order by t.jti) from token t where account_id = $1) as tokens,
       (select jsonb_agg(to_jsonb(r) order by r.range) from address_range r where account_id = $1) as ranges,
       (select jsonb_agg(to_jsonb(s) order by s.recipient) from suppression s where account_id = $1) as suppressions,
       (select jsonb_agg(to_jsonb(b) order by b.id) from bulk_batch b where account_id = $1) as batches,
       (select jsonb_agg(to_jsonb(w) order by w.id) from webhook_endpoint w where account_id = $1) as webhooks,
       (select jsonb_agg(to_jsonb(m) order by m.id) from webhook_message m join webhook_endpoint w on w.id = m.endpoint_id
        where w.account_id = $1) as messages,
       (select jsonb_agg(s.id order by s.id) from console_session s join operator o on o.id = s.operator_id where o.account_id = $1) as sessions`,
    [things.account],
  )
  return JSON.stringify(rows[0])
}

test('every route is one that is attacked here, or of no account', () => {
  const names = consoleRoutes(gateway)
    .filter(({ path }) => path !== '/console/api/*')
    .map(({ method, path }) => `${method} ${path.slice('/console/api'.length)}`)
    .filter(name => !ofSimulator.test(name))
  const attacked = [...Object.keys(bySenders), ...Object.keys(byOperators)]
  expect([...attacked, ...ofNoAccount].sort()).toEqual(names.sort())
})

test('a sender gets 404 about another account, as about one that does not exist, and changes nothing', async () => {
  const before = await everythingOf(theirs)
  for (const [name, attacks] of Object.entries(bySenders)) {
    for (const attack of attacks(theirs, mine)) {
      const { status, text } = await call(sender, attack)
      expect(name === FORBIDDEN ? [403, 404] : [404], `${name} ${text}`).toContain(status)
      expect(text, name).not.toContain('Segredo')
    }
  }
  for (const [name, attacks] of Object.entries(byOperators))
    for (const attack of attacks(theirs, mine)) expect((await call(sender, attack)).status, name).toBe(403)
  expect(await everythingOf(theirs)).toBe(before)
})

test('a thing of one account under the name of another is missing for operators too', async () => {
  const before = await everythingOf(theirs)
  for (const name of ['GET /templates/:id', 'GET /templates/:id/versions/:version', 'PUT /templates/:id'])
    expect((await call(operator, bySenders[name]!(theirs, mine)[1]!)).status, name).toBe(name === FORBIDDEN ? 403 : 404)
  for (const name of ['DELETE /accounts/:id/tokens/:jti', 'POST /operations/suppressions/remove'])
    expect((await call(operator, byOperators[name]!(theirs, mine)[0]!)).status, name).toBe(404)
  expect((await operator.delete(`/me/sessions/${theirs.session}`)).status).toBe(404)
  expect(await everythingOf(theirs)).toBe(before)
})

test('an auditor reads every account and changes none', async () => {
  const before = [await everythingOf(theirs), await everythingOf(mine)]
  for (const [name, attacks] of Object.entries({ ...bySenders, ...byOperators })) {
    if (name.startsWith('GET ') || name.endsWith('/preview') || name.endsWith('/simulation') || name.includes('/me/')) continue
    for (const things of [theirs, mine])
      for (const attack of attacks(things, things)) expect((await call(auditor, attack)).status, name).toBe(403)
  }
  expect([await everythingOf(theirs), await everythingOf(mine)]).toEqual(before)
  expect((await call(auditor, get(`/notifications?account=${theirs.account}`))).text).toContain(`Segredo de ${theirs.account}`)
})

test('lists without an account show a sender its own alone', async () => {
  const lists = ['/notifications', '/notifications.csv', '/accounts', '/installation', '/webhooks', '/operations/suppressions']
  for (const path of [...lists, '/operations/deliveries?state=dead', `/notifications?q=${theirs.notification}`]) {
    const { status, text } = await call(sender, get(path))
    expect([status, text.includes(theirs.account), text.includes(theirs.webhook)], path).toEqual([200, false, false])
  }
  for (const q of [`c-${theirs.account}`, `Segredo de ${theirs.account}`])
    expect((await call(sender, get(`/notifications?q=${encodeURIComponent(q)}`))).text, q).not.toContain(theirs.notification)
  expect((await call(neighbour, get(`/notifications?q=c-${theirs.account}`))).text).toContain(theirs.notification)
})

test('the same calls by the owner succeed: it is the account that was refused', async () => {
  // Nothing was sent, so there is no copy and no proof: the answer says that, and not that the notification is missing.
  const unmade = /\/(contents\/|proof\.pdf|report\.pdf)/
  for (const [name, attacks] of Object.entries(bySenders)) {
    const { status, text } = await call(sender, attacks(mine, mine)[0]!)
    if (unmade.test(name)) expect(text, name).not.toContain('Notificação não encontrada')
    else expect([200, 409], `${name}: ${text.slice(0, 300)}`).toContain(status)
  }
  for (const name of ['DELETE /accounts/:id/tokens/:jti', 'POST /operations/suppressions/remove'])
    expect((await call(operator, byOperators[name]!(theirs, theirs)[0]!)).status, name).toBe(200)
})
