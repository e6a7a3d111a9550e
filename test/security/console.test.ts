import { expect, test } from 'vitest'
import { newTotpSecret, totpCode, totpPeriod, writeTotpSecret } from '../../src/domain/access/totp.js'
import { checkActionLog } from '../../src/engine/record/action-log.js'
import {
  type ConsoleClient,
  clientWith,
  concretePath,
  consoleClient,
  consoleRoutes,
  cookieOf,
  invitationLink,
  ownPage,
  PASSWORD,
} from '../support/gateway/console.js'
import { createAccount, gatewayForFile, startGateway } from '../support/gateway/gateway.js'
import { type Answer, request, send, validSend } from '../support/gateway/requests.js'

/** Whoever is not signed in, not of our own page, not of the account or not of the role gets nothing from the console. */
const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url, { email: 'operadora@example.com' })
const auditor = await consoleClient(pool, url, { email: 'auditor@example.com', role: 'auditor' })
const sender = await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id })
const other = await createAccount(pool)

const signIn = (email: string, password: string, code: string | null = null, headers = ownPage(url)): Promise<Answer> =>
  request(`${url}/console/api/sign-in`, { method: 'POST', headers, body: { email, password, code } })

const deviceOf = ({ headers }: Answer): string => /carteiro-device=[^;]+/.exec(headers.get('set-cookie') ?? '')![0]
const open = [
  '/console/api/sign-in',
  '/console/api/invitation/look',
  '/console/api/invitation/totp',
  '/console/api/invitation/accept',
]

test('every route but sign-in and invitations is 401 without a session, and every unsafe one is 403 from elsewhere', async () => {
  const routes = consoleRoutes(gateway)
  expect(routes).toContainEqual({ method: 'GET', path: '/console/api/overview' })
  expect(routes).toContainEqual({ method: 'PUT', path: '/console/api/me/password' })
  for (const { method, path } of routes) {
    const name = `${method} ${path}`
    const call = (headers: Record<string, string>): Promise<Answer> =>
      request(url + concretePath(path), { method, headers, ...(['POST', 'PUT'].includes(method) ? { body: {} } : {}) })
    if (!open.includes(path)) expect((await call(ownPage(url))).status, name).toBe(401)
    if (method === 'GET') continue
    const { cookie } = operator
    const foreign: Record<string, string>[] = [
      { cookie },
      { cookie, origin: url },
      { cookie, 'x-carteiro-console': '1' },
      { cookie, 'x-carteiro-console': '1', origin: 'https://mal.example' },
      { cookie, 'x-carteiro-console': '1', origin: 'null' },
      { cookie, ...ownPage(url), 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) expect((await call(headers)).status, `${name} ${JSON.stringify(headers)}`).toBe(403)
  }
  expect((await operator.get('/me')).status).toBe(200)
})

test('a sender sees one account alone, on every route that takes one', async () => {
  expect((await send(url, account.token, { ...validSend, subject: 'Da própria conta' })).status).toBe(200)
  const foreign = await send(url, other.token, { ...validSend, subject: 'De outra conta' })
  const { idEmail } = foreign.body as { idEmail: string }
  const subjects = async (client: ConsoleClient, query = ''): Promise<string[]> =>
    ((await client.get(`/notifications${query}`)).body as { rows: { subject: string }[] }).rows.map(({ subject }) => subject)
  expect((await subjects(operator)).sort()).toEqual(['Da própria conta', 'De outra conta'])
  expect(await subjects(sender)).toEqual(['Da própria conta'])
  for (const q of [idEmail, 'De outra conta', validSend.to]) {
    expect(await subjects(sender, `?q=${encodeURIComponent(q)}`)).not.toContain('De outra conta')
  }
  for (const path of ['/notifications', '/notifications.csv', '/overview']) {
    expect((await sender.get(`${path}?account=${other.id}`)).status, path).toBe(404)
  }
  const { accounts } = (await sender.get('/installation')).body as { accounts: { id: string }[] }
  expect(accounts.map(({ id }) => id)).toEqual([account.id])
  const seen = (await sender.get('/overview')).body as { carriers: unknown; totals: { accepted: number }[] }
  expect(seen.carriers).toBeNull()
  expect(seen.totals.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(1)
  const csv = await fetch(`${url}/console/api/notifications.csv`, { headers: { cookie: sender.cookie } })
  expect(await csv.text()).not.toContain('De outra conta')
  expect((await auditor.get('/overview')).status).toBe(200)
})

test('a cookie is worth nothing after sign-out, after the session is ended, and after a change of password', async () => {
  const person = await consoleClient(pool, url, { email: 'sai@example.com' })
  const second = clientWith(url, person.email, cookieOf(await signIn(person.email, PASSWORD)))
  await person.post('/sign-out')
  expect([(await person.get('/me')).status, (await second.get('/me')).status]).toEqual([401, 200])

  const third = clientWith(url, person.email, cookieOf(await signIn(person.email, PASSWORD)))
  const { sessions } = (await second.get('/me')).body as { sessions: { id: string; current: boolean }[] }
  const ended = sessions.find(({ current }) => !current)!
  // Nobody ends the session of somebody else.
  expect((await operator.delete(`/me/sessions/${ended.id}`)).status).toBe(404)
  expect((await second.delete(`/me/sessions/${ended.id}`)).status).toBe(200)
  expect((await third.get('/me')).status).toBe(401)

  const fourth = clientWith(url, person.email, cookieOf(await signIn(person.email, PASSWORD)))
  const next = 'outra frase que ninguém adivinha'
  expect((await second.put('/me/password', { current: 'não é esta', next })).status).toBe(400)
  const changed = await second.put('/me/password', { current: PASSWORD, next })
  expect(changed.status).toBe(200)
  expect([(await second.get('/me')).status, (await fourth.get('/me')).status]).toEqual([401, 401])
  expect((await clientWith(url, person.email, cookieOf(changed)).get('/me')).status).toBe(200)
  expect((await signIn(person.email, PASSWORD)).status).toBe(401)
})

test('a cookie that somebody planted is not taken over: sign-in gives a new one, for this site and no script', async () => {
  const planted = 'carteiro=plantado-por-outro'
  const answer = await signIn(operator.email, PASSWORD, null, { ...ownPage(url), cookie: planted })
  expect(cookieOf(answer)).toMatch(/^carteiro=[\w-]{43}$/)
  expect(answer.headers.get('set-cookie')).toMatch(/Path=\/; HttpOnly; SameSite=Strict/)
  expect((await clientWith(url, '', planted).get('/me')).status).toBe(401)
  const stored = await pool.query('select secret_sha256 from console_session')
  const secret = cookieOf(answer).slice('carteiro='.length)
  expect(JSON.stringify(stored.rows)).not.toContain(secret)
  const secure = await startGateway(pool, { PUBLIC_URL: 'https://notifica.example.com' })
  const https = { 'x-carteiro-console': '1', origin: 'https://notifica.example.com' }
  const body = { email: operator.email, password: PASSWORD }
  const signed = await request(`${secure.url}/console/api/sign-in`, { method: 'POST', headers: https, body })
  expect(signed.headers.get('set-cookie')).toMatch(/^__Host-carteiro=.*; Secure$/)
  await secure.close()
})

test('guessing is locked: the right password does not help either, and an unknown address is locked alike', async () => {
  const person = await consoleClient(pool, url, { email: 'alvo@example.com' })
  for (const email of [person.email, 'ninguem@example.com']) {
    const answers: number[] = []
    for (let guess = 0; guess < 11; guess++) answers.push((await signIn(email, `palpite ${guess}`)).status)
    expect(answers).toEqual([...Array(9).fill(401), 429, 429])
  }
  const locked = await signIn(person.email, PASSWORD)
  expect(locked.status).toBe(429)
  expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await person.get('/me')).status).toBe(200)
  await pool.query('delete from guess_window')
})

test('a stranger who guesses locks strangers out, not the browser that the person knows; that browser has a limit of its own', async () => {
  const person = await consoleClient(pool, url, { email: 'conhecida@example.com' })
  const known = deviceOf(await signIn(person.email, PASSWORD))
  const elsewhere = deviceOf(await signIn(operator.email, PASSWORD))
  const from = (device: string, password: string): Promise<Answer> =>
    signIn(person.email, password, null, { ...ownPage(url), cookie: device })
  for (let guess = 0; guess < 10; guess++) await signIn(person.email, `palpite ${guess}`)
  expect((await signIn(person.email, PASSWORD)).status).toBe(429)
  // Neither a device of somebody else nor an invented one is known.
  for (const device of [elsewhere, `${known}x`, 'carteiro-device=', 'carteiro-device=AAAAAAAAAAAAAAAA.x'])
    expect((await from(device, PASSWORD)).status, device).toBe(429)
  expect((await from(known, PASSWORD)).status).toBe(200)
  // A whole address that is locked does not lock it either.
  await pool.query("update guess_window set locked_until = now() + interval '1 hour' where key like 'console address %'")
  expect([(await from(known, PASSWORD)).status, (await signIn(operator.email, PASSWORD)).status]).toEqual([200, 429])
  const guesses: number[] = []
  for (let guess = 0; guess < 11; guess++) guesses.push((await from(known, `palpite ${guess}`)).status)
  expect(guesses).toEqual([...Array(9).fill(401), 429, 429])
  expect((await from(known, PASSWORD)).status).toBe(429)
  // A strange browser must not stay known once the password has changed.
  await pool.query("delete from guess_window where key like 'console device %'")
  await pool.query("update guess_window set locked_until = now() + interval '1 hour' where key like 'console person %'")
  const next = 'cinco gatos dormem ao sol'
  expect((await person.put('/me/password', { current: PASSWORD, next })).status).toBe(200)
  expect((await from(known, next)).status).toBe(429)
  await pool.query('delete from guess_window')
})

test('a link works once; a password that is short or names its owner is refused', async () => {
  const secret = new URL(await invitationLink(pool, url, { email: 'nova@example.com' })).hash.slice(1)
  const accept = (password: string): Promise<Answer> =>
    request(`${url}/console/api/invitation/accept`, {
      method: 'POST',
      headers: ownPage(url),
      body: { secret, name: 'Novata', email: 'outra@example.com', password, totp: null },
    })
  for (const weak of ['curta', 'aaaaaaaaaaaaaaaa', 'novata novata', '123456789012345'])
    expect((await accept(weak)).status, weak).toBe(400)
  const first = await accept(PASSWORD)
  expect(first.status).toBe(200)
  expect((await clientWith(url, '', cookieOf(first)).get('/me')).body).toMatchObject({
    email: 'nova@example.com',
    role: 'operator',
  })
  expect((await accept(PASSWORD)).status).toBe(410)
  await invitationLink(pool, url, { email: 'tarde@example.com' })
})

test('with a second factor the password alone opens nothing, and a code counts once', async () => {
  const person = await consoleClient(pool, url, { email: 'dois@example.com' })
  const secret = newTotpSecret()
  const code = (ahead: number): string => totpCode(secret, totpPeriod(Date.now()) + ahead)
  const set = async (typed: string): Promise<number> =>
    (await person.put('/me/totp', { password: PASSWORD, totp: { secret: writeTotpSecret(secret), code: typed } })).status
  expect(await set('000000')).toBe(400)
  expect(await set(code(0))).toBe(200)
  const asked = await signIn(person.email, PASSWORD)
  expect([asked.body, cookieOf(asked)]).toEqual([{ next: 'code' }, ''])
  const used = code(1)
  expect((await signIn(person.email, PASSWORD, used)).body).toEqual({ next: 'done' })
  expect((await signIn(person.email, PASSWORD, used)).status).toBe(400)
  await pool.query('delete from guess_window')
})

test('every act is in the log of actions, which is a chain: a row that is changed or removed is found', async () => {
  const { checked, fault } = await checkActionLog(pool)
  expect(fault).toBeNull()
  const { rows } = await pool.query<{ action: string }>('select distinct action from audit')
  expect(rows.map(({ action }) => action)).toEqual(
    expect.arrayContaining([
      'operator invite',
      'operator create',
      'sign in',
      'sign out',
      'session end',
      'password change',
      'second factor set',
    ]),
  )
  await expect(pool.query("update audit set actor = 'ninguém' where id = 3")).rejects.toThrow(/permission denied/)
  await database.tamper("update audit set actor = 'ninguém' where id = 3")
  expect((await checkActionLog(pool)).fault).toEqual({ id: 3, fault: 'hash' })
  await database.tamper('delete from audit where id = 3')
  expect(await checkActionLog(pool)).toEqual({ checked: checked - 1, fault: { id: 3, fault: 'sequence' }, next: null })
})
