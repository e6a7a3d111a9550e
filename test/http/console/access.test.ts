import { expect, test } from 'vitest'
import { type AuditRow, auditHash } from '../../../src/domain/evidence/audit-chain.js'
import { checkActionLog } from '../../../src/engine/record/action-log.js'
import { clientWith, consoleClient, cookieOf, ownPage, PASSWORD } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'
import { request, send, validSend } from '../../support/gateway/requests.js'
import { pngOf } from '../../support/programs/pictures.js'

/** What the screen of access does: accounts, tokens, addresses, operators and the log of actions. */
const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url)
const of = (path: string): string => `/accounts/${account.id}${path}`
const lastAction = async () =>
  ((await operator.get('/audit')).body as { rows: { action: string; actor: string; subject: string; detail: object }[] }).rows[0]!

test('an account is made once under its name', async () => {
  const made = await operator.post('/accounts', { name: ' Aurora ', entity: '' })
  const { id } = made.body as { id: string }
  expect(await lastAction()).toMatchObject({ action: 'account create', actor: 'operator:ana@example.com', subject: id })
  expect((await operator.get(`/accounts/${id}`)).body).toMatchObject({ name: 'Aurora', entity: 'Aurora', logo: null })
  const again = await operator.post('/accounts', { name: 'Aurora' })
  expect([again.status, (again.body as { message: string }).message]).toEqual([409, expect.stringContaining('Aurora')])
  for (const name of ['', '  ', 'a\nb']) expect((await operator.post('/accounts', { name })).status, name).toBe(400)
})

test('a token works once it is issued, is shown nowhere else, and is refused by the very next call once it is revoked', async () => {
  const issued = (await operator.post(of('/tokens'), { mode: 'live', expires: '90d' })).body as { jti: string; token: string }
  expect((await send(url, issued.token, validSend)).status).toBe(200)
  const listed = await operator.get(of('/tokens'))
  expect(listed.body).toMatchObject({ rows: [{ jti: issued.jti, state: 'active', mode: 'live' }, {}], cursor: null })
  expect(JSON.stringify(listed.body)).not.toContain(issued.token)
  const { rows } = await pool.query('select * from audit')
  expect(JSON.stringify(rows)).not.toContain(issued.token)
  const other = await createAccount(pool)
  expect((await operator.delete(`/accounts/${other.id}/tokens/${issued.jti}`)).status).toBe(404)
  expect((await operator.delete(of(`/tokens/${issued.jti}`))).status).toBe(200)
  expect((await send(url, issued.token, validSend)).status).toBe(401)
  expect(await lastAction()).toMatchObject({ action: 'token revoke', subject: issued.jti })
  expect((await operator.get(of('/tokens'))).body).toMatchObject({ rows: [{ state: 'revoked' }, {}] })
  for (const expires of ['sempre', '0d', '-1d']) {
    expect((await operator.post(of('/tokens'), { mode: 'live', expires })).status, expires).toBe(400)
  }
})

test('the tokens of an account come in pages, newest first, each once', async () => {
  const many = await createAccount(pool)
  await database.tamper(
    `insert into token (jti, account_id, mode, issued_at) select uuidv7(), '${many.id}', 'test', now() from generate_series(1, 120)`,
  )
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = (await operator.get(`/accounts/${many.id}/tokens?cursor=${cursor}`)).body as {
      rows: { jti: string }[]
      cursor: string | null
    }
    seen.push(...page.rows.map(({ jti }) => jti))
    cursor = page.cursor
  }
  expect(seen).toHaveLength(121)
  expect(seen).toEqual([...new Set(seen)].sort().reverse())
  expect((await operator.get(of('/tokens?cursor=x'))).status).toBe(400)
})

test('addresses: what is registered, and whether the address of the person is; a change counts for the next call', async () => {
  const bare = await createAccount(pool, { ranges: [] })
  const at = `/accounts/${bare.id}/addresses`
  expect((await operator.get(at)).body).toEqual({ ranges: [], yours: { address: '127.0.0.1', isRegistered: false } })
  const limit = async () => (await send(url, bare.token, validSend)).headers.get('ratelimit')?.split(';')[0]
  const before = await limit()
  expect((await operator.post(at, { range: ' 127.0.0.9/8 ' })).status).toBe(200)
  expect((await operator.get(at)).body).toEqual({ ranges: ['127.0.0.0/8'], yours: { address: '127.0.0.1', isRegistered: true } })
  expect(await limit()).not.toBe(before)
  expect(await lastAction()).toMatchObject({ action: 'address add', subject: bare.id, detail: { range: '127.0.0.0/8' } })
  expect((await operator.delete(`${at}?range=${encodeURIComponent('127.0.0.0/8')}`)).status).toBe(200)
  expect((await operator.delete(`${at}?range=${encodeURIComponent('127.0.0.0/8')}`)).status).toBe(404)
  expect((await operator.post(at, { range: '127.1' })).status).toBe(400)
})

test('identity and brand: a value is checked before it is saved, and the samples show it before that', async () => {
  const page = async (sample: string, draft: object) => {
    const address = `${url}/console/api${of(`/samples/${sample}`)}?draft=${encodeURIComponent(JSON.stringify(draft))}`
    return fetch(address, { headers: { cookie: operator.cookie } })
  }
  const draft = { 'brand.name': 'Aurora <b>S.A.</b>', 'brand.color': '#0a5c36', 'sender.document': '11.222.333/0001-81' }
  for (const sample of ['pagina', 'email']) {
    const answer = await page(sample, draft)
    const text = await answer.text()
    expect(answer.status).toBe(200)
    expect(text).toContain('Aurora &lt;b&gt;S.A.&lt;/b&gt;')
    expect(text).toContain('#0a5c36')
    expect(text).toContain('11.222.333/0001-81')
    expect(answer.headers.get('content-security-policy')).toMatch(/frame-ancestors 'self'; sandbox$/)
    expect(answer.headers.get('x-frame-options')).toBe('SAMEORIGIN')
  }
  const pdf = await page('carta', draft)
  expect(pdf.headers.get('content-type')).toBe('application/pdf')
  expect(
    Buffer.from(await pdf.arrayBuffer())
      .subarray(0, 5)
      .toString(),
  ).toBe('%PDF-')
  // Nothing was saved.
  expect((await operator.get(of(''))).body).not.toMatchObject({ settings: expect.arrayContaining([{ value: '#0a5c36' }]) })
  for (const bad of [{ 'brand.color': '#ffcc00' }, { nada: 'x' }, { 'brand.name': 7 }]) {
    expect((await page('pagina', bad)).status, JSON.stringify(bad)).toBe(400)
  }
  for (const bad of ['fax', 'sms']) expect((await page(bad, {})).status, bad).toBe(404)
  const refused = await operator.put(of('/settings'), { changes: { 'sender.phone': '1130031234', 'brand.color': '#ffcc00' } })
  expect([refused.status, (refused.body as { message: string }).message]).toEqual([400, expect.stringContaining('contraste 1,5')])
  expect((await operator.put(of('/settings'), { changes: { __proto__x: '1' } })).status).toBe(400)
  expect((await operator.put(of('/settings'), { changes: draft })).status).toBe(200)
  const { settings } = (await operator.get(of(''))).body as { settings: { name: string; value: string }[] }
  expect(settings.find(({ name }) => name === 'sender.document')!.value).toBe('11222333000181')
  expect(await lastAction()).toMatchObject({ action: 'account set', detail: { 'brand.color': '#0a5c36' } })
})

test('a logo is a picture by its bytes, is shown by the samples, and can be removed', async () => {
  const put = (bytes: Buffer) => operator.put(of('/logo'), { data: bytes.toString('base64') })
  expect((await put(Buffer.from('<html></html>'))).status).toBe(400)
  expect((await put(pngOf(2_001, 2_000))).status).toBe(400)
  expect((await put(Buffer.concat([pngOf(10, 10), Buffer.alloc(100_000)]))).status).toBe(400)
  expect((await put(pngOf(40, 20))).status).toBe(200)
  const { logo } = (await operator.get(of(''))).body as { logo: string }
  expect((await fetch(url + logo)).headers.get('content-type')).toBe('image/png')
  const sample = await fetch(`${url}/console/api${of('/samples/pagina')}`, { headers: { cookie: operator.cookie } })
  expect(await sample.text()).toContain(logo)
  expect((await operator.delete(of('/logo'))).status).toBe(200)
  expect((await operator.get(of(''))).body).toMatchObject({ logo: null })
})

test('operators: invited, given another role, disabled and enabled; each ends the sessions, and nobody locks all others out', async () => {
  const made = await operator.post('/operators/invite', { email: 'Bia@Example.com', role: 'sender', account: account.id })
  const { link } = made.body as { link: string }
  expect((await operator.get('/operators')).body).toMatchObject({ invitations: [{ email: 'bia@example.com', role: 'sender' }] })
  const accepted = await request(`${url}/console/api/invitation/accept`, {
    method: 'POST',
    headers: ownPage(url),
    body: { secret: new URL(link).hash.slice(1), name: 'Bia', email: '', password: PASSWORD, totp: null },
  })
  const bia = clientWith(url, 'bia@example.com', cookieOf(accepted))
  const people = (await operator.get('/operators')).body as { rows: { id: string; email: string; isYou: boolean }[] }
  const idOf = (email: string): string => people.rows.find(row => row.email === email)!.id
  const [biaId, ownId] = [idOf('bia@example.com'), people.rows.find(({ isYou }) => isYou)!.id]
  expect((await bia.get('/audit')).status).toBe(403)

  const twice = await operator.post('/operators/invite', { email: 'bia@example.com', role: 'auditor', account: null })
  expect(twice.status).toBe(409)
  for (const body of [
    { email: 'x', role: 'auditor', account: null },
    { email: 'c@example.com', role: 'sender', account: null },
    { email: 'c@example.com', role: 'auditor', account: account.id },
  ])
    expect((await operator.post('/operators/invite', body)).status, JSON.stringify(body)).toBe(400)

  expect((await operator.put(`/operators/${biaId}/role`, { role: 'auditor', account: null })).status).toBe(200)
  expect((await bia.get('/me')).status).toBe(401)
  const signIn = () =>
    request(`${url}/console/api/sign-in`, {
      method: 'POST',
      headers: ownPage(url),
      body: { email: 'bia@example.com', password: PASSWORD },
    })
  const again = clientWith(url, 'bia@example.com', cookieOf(await signIn()))
  expect((await again.get('/audit')).status).toBe(200)

  expect((await operator.post(`/operators/${biaId}/end-sessions`)).status).toBe(200)
  expect((await again.get('/me')).status).toBe(401)
  expect((await operator.post(`/operators/${biaId}/disable`)).status).toBe(200)
  expect((await signIn()).status).toBe(401)
  expect((await operator.post(`/operators/${biaId}/enable`)).status).toBe(200)
  expect((await signIn()).status).toBe(200)
  expect(await lastAction()).toMatchObject({ action: 'sign in' })

  for (const act of ['disable', 'role']) {
    const path = `/operators/${ownId}/${act}`
    const answer = act === 'role' ? await operator.put(path, { role: 'auditor', account: null }) : await operator.post(path)
    expect([answer.status, (answer.body as { message: string }).message]).toEqual([
      400,
      expect.stringContaining('outro operador'),
    ])
  }
  expect((await operator.get('/me')).body).toMatchObject({ role: 'operator' })
  expect((await operator.post('/operators/nada/disable')).status).toBe(404)

  await operator.post('/operators/invite', { email: 'c@example.com', role: 'auditor', account: null })
  expect((await operator.delete('/operators/invitations?email=c%40example.com')).status).toBe(200)
  expect((await operator.delete('/operators/invitations?email=c%40example.com')).status).toBe(404)
  expect((await operator.get('/operators')).body).toMatchObject({ invitations: [] })
})

test('two operators who disable each other at the same moment: one of them stays', async () => {
  const pair = await Promise.all(['um@example.com', 'dois@example.com'].map(email => consoleClient(pool, url, { email })))
  const { rows } = (await operator.get('/operators')).body as { rows: { id: string; email: string; isYou: boolean }[] }
  const idOf = (email: string): string => rows.find(row => row.email === email)!.id
  expect((await pair[0]!.post(`/operators/${rows.find(({ isYou }) => isYou)!.id}/disable`)).status).toBe(200)
  const answers = await Promise.all([
    pair[0]!.post(`/operators/${idOf('dois@example.com')}/disable`),
    pair[1]!.post(`/operators/${idOf('um@example.com')}/disable`),
  ])
  // The second finds its session ended, or the other one the last.
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const left = await pool.query("select from operator where role = 'operator' and disabled_at is null")
  expect(left.rowCount).toBe(1)
  await pool.query('update operator set disabled_at = null')
})

let brokenSubject = ''
test('the log of actions comes in pages, of everyone or of one person, and says whether its chain is whole', async () => {
  const person = await consoleClient(pool, url, { email: 'confere@example.com', role: 'auditor' })
  const chain = (await person.get('/audit/chain')).body as { checked: number; fault: unknown; head: { id: number; hash: string } }
  expect(chain).toMatchObject({ fault: null, head: { id: chain.checked } })
  const ids: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = (await person.get(`/audit?cursor=${cursor}`)).body as { rows: { id: number }[]; cursor: string | null }
    ids.push(...page.rows.map(({ id }) => id))
    cursor = page.cursor
  }
  expect(ids).toEqual(Array.from({ length: chain.checked }, (_, index) => chain.checked - index))
  const own = (await person.get('/audit?actor=operator:confere@example.com')).body as { rows: { actor: string }[] }
  expect(new Set(own.rows.map(({ actor }) => actor))).toEqual(new Set(['operator:confere@example.com']))
  for (const bad of ['cursor=x', 'cursor=-1', 'actor=%00']) expect((await person.get(`/audit?${bad}`)).status, bad).toBe(400)
  expect((await checkActionLog(pool)).fault).toBeNull()
  // From a row that somebody noted: a log that lost its end, or was written anew, differs from it.
  const noted = `${chain.head.id}.${chain.head.hash}`
  const from = async (after: string) => (await person.get(`/audit/chain?after=${after}`)).body
  expect(await from(noted)).toMatchObject({ fault: null, next: null })
  expect(await from(`2.${chain.head.hash}`)).toMatchObject({ fault: { id: 3, fault: 'link' } })
  expect(await from(`9999.${chain.head.hash}`)).toMatchObject({ fault: { fault: 'sequence' } })
  for (const bad of ['x', '1', `-1.${chain.head.hash}`, '1.%00']) expect(await from(bad), bad).toMatchObject({ statusCode: 400 })
  brokenSubject = (await pool.query('select subject from audit where id = 2')).rows[0].subject
  await database.tamper('update audit set subject = $$outro$$ where id = 2')
  expect((await person.get('/audit/chain')).body).toMatchObject({ fault: { id: 2, fault: 'hash' } })
})

test('the chain is checked in parts, each a bounded piece of work, that together are the whole of it', async () => {
  const person = await consoleClient(pool, url, { email: 'partes@example.com', role: 'auditor' })
  const { head } = (await person.get('/audit/chain')).body as { head: { id: number; hash: string } }
  const rows: AuditRow[] = []
  for (let { id, hash } = head; rows.length < 5_500; { id, hash } = rows.at(-1)!) {
    const row = { id: id + 1, at: new Date().toISOString(), actor: 'test', action: 'x', subject: 'y', detail: {}, prev: hash }
    rows.push({ ...row, hash: auditHash(row) })
  }
  await pool.query(
    `insert into audit (id, at, actor, action, subject, detail, prev, hash)
     select id, at, actor, action, subject, detail, decode(prev, 'hex'), decode(hash, 'hex')
     from json_to_recordset($1) as r(id bigint, at timestamptz, actor text, action text, subject text, detail jsonb, prev text, hash text)`,
    [JSON.stringify(rows)],
  )
  // The test before has broken row 2.
  await database.tamper('update audit set subject = $1 where id = 2', [brokenSubject])
  const parts: { checked: number; fault: object | null; next: string | null; head: { id: number } }[] = []
  for (let after: string | null = ''; after !== null; after = parts.at(-1)!.next)
    parts.push((await person.get(`/audit/chain?after=${after}`)).body as (typeof parts)[number])
  expect(parts.map(({ fault }) => fault)).toEqual([null, null])
  expect([parts[0]!.checked, parts[1]!.checked]).toEqual([5_000, parts[1]!.head.id])
  await database.tamper('update audit set subject = $1 where id = 5100', ['outro'])
  expect((await person.get(`/audit/chain?after=${parts[0]!.next}`)).body).toMatchObject({ fault: { id: 5_100, fault: 'hash' } })
})
