import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { newTotpSecret, totpCode, totpPeriod, writeTotpSecret } from '../../src/domain/access/totp.js'
import {
  type ConsoleClient,
  clientWith,
  consoleClient,
  consoleRoutes,
  cookieOf,
  ownPage,
  PASSWORD,
} from '../support/gateway/console.js'
import { createAccount, gatewayForFile } from '../support/gateway/gateway.js'
import { type Answer, request, send, validSend } from '../support/gateway/requests.js'

/** What a hostile page, a stolen cookie or a program that types anything gets from the console. */
const { database, gateway, account } = await gatewayForFile({ parts: { console: { everyMs: 20, aliveEveryMs: 20 } } })
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url, { email: 'operadora@example.com' })

const signIn = (email: string, password = PASSWORD, code: string | null = null, headers = {}): Promise<Answer> =>
  request(`${url}/console/api/sign-in`, {
    method: 'POST',
    headers: { ...ownPage(url), ...headers },
    body: { email, password, code },
  })
const again = async ({ email }: ConsoleClient): Promise<ConsoleClient> => clientWith(url, email, cookieOf(await signIn(email)))

test('no query parameter of any route brings it down: garbage, NUL, lone surrogates, huge numbers, lists and long texts are 400 or harmless', async () => {
  const { idEmail } = (await send(url, account.token, validSend)).body as { idEmail: string }
  const hook = { account: account.id, mode: 'live', url: 'https://127.0.0.1/x', version: 'v2', channels: [], statuses: [] }
  const { id: webhook } = (await operator.post('/webhooks', hook)).body as { id: string }
  const ids: Record<string, string> = { notifications: idEmail, accounts: account.id, webhooks: webhook }
  const values = [
    ...['x', '%00', '%ED%A0%80', '-1', '1e400', '99999999999999999999', "'", '0000-00-00', '99999-01-01', '-271822-04-20'],
    ...['a'.repeat(10_000), randomUUID(), `${idEmail}%20x`, `9.${'0'.repeat(64)}`],
    ...['["9999-99-99T99:99:99.999999Z","email","x"]', '["2026-01-01T00:00:00.000000Z","\\u0000","x"]', '[1,2,3]'].map(cursor =>
      Buffer.from(cursor).toString('base64url'),
    ),
  ]
  const names = [
    'account',
    'mode',
    'q',
    'channel',
    'status',
    'from',
    'to',
    'cursor',
    'period',
    'state',
    'before',
    'failed',
    'recipient',
  ]
  const routes = consoleRoutes(gateway)
    .filter(
      ({ method, path }) =>
        method === 'GET' && !path.endsWith('*') && !/\/(live|bundle|proof|report|verification|setup)/.test(path),
    )
    .map(({ path }) => path.replace(/\/(\w+)\/:id/, (_, kind) => `/${kind}/${ids[kind] ?? randomUUID()}`).replace(/:\w+/g, '1'))
  const refused = new Set<string>()
  for (const path of routes) {
    const base = path.endsWith('/deliveries')
      ? 'state=dead&'
      : /templates|sequence|compose/.test(path)
        ? `account=${account.id}&`
        : ''
    for (const name of [...names, 'after', 'actor', 'draft', 'notification']) {
      for (const value of values) {
        if (!KNOWN.test(`${path} ${name}`)) continue
        const query = base.startsWith(`${name}=`) ? `${name}=${value}` : `${base}${name}=${value}`
        const { status } = await fetch(`${url}${path}?${query}`, { headers: { cookie: operator.cookie } }).then(async answer => {
          await answer.arrayBuffer()
          return answer
        })
        expect([200, 400, 404], `${path}?${query.slice(0, 120)}`).toContain(status)
        if (status === 400) refused.add(`${path} ${name}`)
      }
    }
    const twice = await fetch(`${url}${path}?account=${account.id}&account=x&cursor=1&cursor=2`, {
      headers: { cookie: operator.cookie },
    })
    expect([200, 400, 404], `${path} twice`).toContain(twice.status)
    await twice.arrayBuffer()
  }
  for (const name of ['cursor', 'q', 'from', 'to', 'channel', 'status', 'mode'])
    expect([...refused], name).toContain(`/console/api/notifications ${name}`)
  const others = [
    'audit cursor',
    'audit actor',
    'audit/chain after',
    'operations/suppressions cursor',
    'operations/deliveries cursor',
  ]
  others.push(
    'templates cursor',
    `webhooks/${webhook}/attempts before`,
    `accounts/${account.id}/tokens cursor`,
    'overview period',
  )
  for (const name of [...others, 'operations/suppressions recipient']) expect([...refused]).toContain(`/console/api/${name}`)
})
const KNOWN =
  /(notifications(\.csv)? (account|mode|q|channel|status|from|to|cursor)|overview (account|mode|period)|deliveries (account|mode|state|channel|cursor)|suppressions (account|mode|channel|recipient|cursor)|queue (account|mode)|webhooks (account|mode)|attempts (before|failed)|templates (account|mode|channel|cursor)|templates\/\S+ (account|mode)|(sequence|compose) (account|mode)|tokens cursor|audit (cursor|actor)|chain after|samples\/\S+ draft|carriers mode|simulator\/messages (channel|notification))$/

test('an id in a path that is none is 404, whatever it holds', async () => {
  for (const id of ['x', '%00', '..%2f..%2fetc', "'", '%ED%A0%80', 'a'.repeat(5_000), '0'.repeat(36)]) {
    for (const path of [
      'notifications/ID',
      'notifications/ID/status',
      'notifications/ID/content',
      'accounts/ID',
      'webhooks/ID/attempts',
    ]) {
      const { status } = await fetch(`${url}/console/api/${path.replace('ID', id)}`, { headers: { cookie: operator.cookie } })
      expect([400, 404], `${path} ${id.slice(0, 20)}`).toContain(status)
    }
    for (const at of [`${account.id}/contents/${id}/1`, `${account.id}/contents/email/${id}`]) {
      const { status } = await fetch(`${url}/console/api/notifications/${at}`, { headers: { cookie: operator.cookie } })
      expect([400, 404], at.slice(0, 80)).toContain(status)
    }
  }
})

test('a form of another site is refused, also with the cookie and whatever it calls its content', async () => {
  const { cookie } = operator
  const before = (await pool.query('select count(*) from account')).rows[0].count
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
    const body = JSON.stringify({ name: `De fora ${type}` })
    const call = (headers: Record<string, string>) =>
      fetch(`${url}/console/api/accounts`, { method: 'POST', headers: { cookie, 'content-type': type, ...headers }, body })
    expect((await call({ origin: 'https://mal.example' })).status, type).toBe(403)
    expect((await call({})).status, type).toBe(403)
    // Our own page sends JSON alone.
    expect((await call(ownPage(url))).status, type).toBeGreaterThanOrEqual(400)
  }
  // Neighbours: other ports and schemes, and names that only begin or end like ours.
  for (const origin of [
    `${url}0`,
    url.replace('http:', 'https:').replace('127.', '128.'),
    `${url}.mal.example`,
    `https://mal.example/${url}`,
  ]) {
    const headers = { cookie, 'x-carteiro-console': '1', origin, 'content-type': 'application/json' }
    const { status } = await fetch(`${url}/console/api/accounts`, { method: 'POST', headers, body: '{"name":"De fora"}' })
    expect(status, origin).toBe(403)
  }
  expect((await pool.query('select count(*) from account')).rows[0].count).toBe(before)
  const preflight = await fetch(`${url}/console/api/accounts`, {
    method: 'OPTIONS',
    headers: { origin: 'https://mal.example', 'access-control-request-method': 'POST' },
  })
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
})

test('the cookie from before a sign-in is not the one after it, and never becomes worth anything', async () => {
  const person = await consoleClient(pool, url, { email: 'fixa@example.com' })
  const fixed = `carteiro=${'A'.repeat(43)}`
  for (const cookie of [fixed, person.cookie]) {
    const answer = await signIn(person.email, PASSWORD, null, { cookie })
    expect(cookieOf(answer)).not.toBe(cookie)
  }
  expect((await clientWith(url, '', fixed).get('/me')).status).toBe(401)
  // Two cookies of one name: a neighbour's that came first does not make the second one count.
  const both = clientWith(url, '', `${fixed}; ${person.cookie}`)
  expect((await both.get('/me')).status).toBe(401)
})

test('a stolen cookie ends with a change of role, a deactivation, and the ending of all sessions', async () => {
  const victim = await consoleClient(pool, url, { email: 'vitima@example.com', role: 'auditor' })
  const { rows } = (await operator.get('/operators')).body as { rows: { id: string; email: string }[] }
  const id = rows.find(({ email }) => email === victim.email)!.id
  const acts: [string, () => Promise<Answer>][] = [
    ['role', () => operator.put(`/operators/${id}/role`, { role: 'sender', account: account.id })],
    ['end-sessions', () => operator.post(`/operators/${id}/end-sessions`)],
    ['disable', () => operator.post(`/operators/${id}/disable`)],
  ]
  for (const [name, act] of acts) {
    const stolen = await again(victim)
    expect((await stolen.get('/me')).status, name).toBe(200)
    expect((await act()).status, name).toBe(200)
    expect((await stolen.get('/me')).status, name).toBe(401)
    // A body is not looked at either.
    expect((await stolen.post('/compose/send', {})).status, name).toBe(401)
  }
  expect((await signIn(victim.email)).status).toBe(401)
  await operator.post(`/operators/${id}/enable`)
  expect((await signIn(victim.email)).status).toBe(200)
})

test('guesses at the second factor lock like guesses at the password, and the lock says no more than that', async () => {
  const person = await consoleClient(pool, url, { email: 'codigo@example.com' })
  const secret = newTotpSecret()
  const now = (): number => totpPeriod(Date.now())
  const totp = { secret: writeTotpSecret(secret), code: totpCode(secret, now()) }
  expect((await person.put('/me/totp', { password: PASSWORD, totp })).status).toBe(200)
  await pool.query('delete from guess_window')
  const guesses: number[] = []
  for (let guess = 0; guess < 11; guess++) guesses.push((await signIn(person.email, PASSWORD, String(100_000 + guess))).status)
  expect(guesses).toEqual([...Array(9).fill(400), 429, 429])
  expect((await signIn(person.email, PASSWORD, totpCode(secret, now() + 1))).status).toBe(429)
  // Of all addresses together: another address of the same guesser does not start anew.
  const wrong = await pool.query("select key from guess_window where key like 'console person %'")
  expect(wrong.rowCount).toBe(1)
  await pool.query('delete from guess_window')
  const used = now() + 1
  expect((await signIn(person.email, PASSWORD, totpCode(secret, used))).body).toEqual({ next: 'done' })
  // Not again, and none that is older.
  for (const period of [used, used - 1, used - 2])
    expect((await signIn(person.email, PASSWORD, totpCode(secret, period))).status).toBe(400)
  await pool.query('delete from guess_window')
})

test('an invitation that two people open at the same moment makes one operator', async () => {
  const { link } = (await operator.post('/operators/invite', { email: 'dupla@example.com', role: 'auditor', account: null }))
    .body as { link: string }
  const secret = new URL(link).hash.slice(1)
  const accept = (): Promise<Answer> =>
    request(`${url}/console/api/invitation/accept`, {
      method: 'POST',
      headers: ownPage(url),
      body: { secret, name: 'Dupla', email: 'dupla@example.com', password: PASSWORD, totp: null },
    })
  const statuses = (await Promise.all([accept(), accept()])).map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 410])
  expect((await accept()).status).toBe(410)
})

test('the stream names no notification of another account, and ends soon after its session does', async () => {
  const other = await createAccount(pool)
  const sender = await consoleClient(pool, url, { email: 'escuta@example.com', role: 'sender', account: account.id })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const { body } = await fetch(`${url}/console/api/live`, { headers: { cookie: sender.cookie }, signal: stop.signal })
  const heard = { text: '', ended: false }
  void (async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) heard.text += chunk
    heard.ended = true
  })().catch(() => {})
  const idOf = async (token: string) => ((await send(url, token, validSend)).body as { idEmail: string }).idEmail
  const foreign: string[] = []
  // Its own comes after those of the other account: once it was told, so would they have been.
  await expect
    .poll(async () => {
      foreign.push(await idOf(other.token))
      return heard.text.includes(await idOf(account.token)) || heard.text.includes('event: change')
    })
    .toBe(true)
  for (const id of foreign) expect(heard.text).not.toContain(id)
  expect(heard.text).not.toContain(other.id)
  const { rows } = (await operator.get('/operators')).body as { rows: { id: string; email: string }[] }
  await operator.post(`/operators/${rows.find(({ email }) => email === sender.email)!.id}/disable`)
  await expect.poll(() => heard.ended).toBe(true)
})

test('the export holds no cell that a spreadsheet would run, whoever wrote it, and its name is ours', async () => {
  const bad = ['=HYPERLINK("https://mal.example")', '+1+1', '-2+3', '@SUM(1)', ' =1+2']
  for (const [index, text] of bad.entries())
    await send(url, account.token, { ...validSend, subject: text, nameTo: text, customID: `${text.slice(0, 1)}c${index}` })
  const answer = await fetch(`${url}/console/api/notifications.csv`, { headers: { cookie: operator.cookie } })
  const text = await answer.text()
  const cells = text
    .slice(1)
    .split('\r\n')
    .flatMap(line => line.slice(1, -1).split('";"'))
  for (const cell of cells) expect(cell).not.toMatch(/^\s*[=@\t\r]|^\s*[+-](?!\d+$)/)
  for (const cell of bad) expect(cells, cell).toContain(`'${cell.replaceAll('"', '""')}`)
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/)
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
})
