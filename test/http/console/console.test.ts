import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lowestId } from '../../../src/domain/id.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { searchPage } from '../../../src/http/console/notifications/notification-search.js'
import { reportHealth } from '../../../src/store/carrier/health.js'
import { sumTallies } from '../../../src/store/console/counts.js'
import { namedQuery } from '../../../src/store/console/notification-list.js'
import { monthsOfPage } from '../../../src/store/months.js'
import { newestQuery } from '../../../src/store/notification/newest-notifications.js'
import { consoleClient } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile, gatewayForTest } from '../../support/gateway/gateway.js'
import { send, validSend } from '../../support/gateway/requests.js'
import { ROOT } from '../../support/sources.js'

/** What the overview and the list of the console show of what was sent. */
const { database, gateway, account } = await gatewayForFile({ parts: { console: { everyMs: 20, aliveEveryMs: 100 } } })
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url)

const accept = async (body: object = {}): Promise<string> =>
  ((await send(url, account.token, { ...validSend, ...body })).body as { idEmail: string }).idEmail

type FactData = { failure?: 'bounced' }
const record = (notification: string, channel: string, type: 'sent' | 'delivered' | 'read' | 'failed', data: FactData = {}) =>
  recordChanges(pool, Date.now, [{ kind: 'fact', notification, fact: { channel, type, at: new Date(), source: 'test', data } }])

const page = async (query: string) =>
  (await operator.get(`/notifications?${query}`)).body as {
    rows: { id: string; subject: string; deliveries: { label: string; tone: string }[] }[]
    cursor: string | null
  }
const idsOf = async (query: string): Promise<string[]> => (await page(query)).rows.map(({ id }) => id)

const reached = await accept({ subject: 'Lida', customID: 'contrato-1', sms: { number: '11987654321', text: 'oi' } })
const failed = await accept({ subject: 'Devolvida', to: 'joao@example.com', nameTo: '=HYPERLINK("x")' })
const waiting = await accept({ subject: 'Na fila' })
await record(reached, 'email', 'sent')
await record(reached, 'email', 'read')
await record(failed, 'email', 'sent')
await record(failed, 'email', 'failed', { failure: 'bounced' })

test('the counts are those of the deliveries themselves, before and after they are summed up', async () => {
  const totalOf = async (period: string): Promise<Record<string, number>> => {
    const { totals } = (await operator.get(`/overview?period=${period}`)).body as { totals: Record<string, number>[] }
    const sum = (name: string): number => totals.reduce((before, row) => before + row[name]!, 0)
    return { accepted: sum('accepted'), sent: sum('sent'), delivered: sum('delivered'), read: sum('read'), failed: sum('failed') }
  }
  // Hours and days are counted side by side, and agree.
  const total = async (): Promise<Record<string, number>> => {
    const [day, ...days] = await Promise.all(['24h', '7d', '30d'].map(totalOf))
    for (const other of days) expect(other).toEqual(day)
    return day!
  }
  const { rows } = await pool.query(
    `select count(*) as accepted, count(sent_at) as sent, count(delivered_at) as delivered, count(read_at) as read, count(failure) as failed
     from delivery`,
  )
  expect(rows[0]).toEqual({ accepted: 4, sent: 2, delivered: 1, read: 1, failed: 1 })
  expect(await total()).toEqual(rows[0])
  await sumTallies(pool)
  expect((await pool.query('select from delivery_tally')).rowCount).toBe(0)
  expect(await total()).toEqual(rows[0])
  await Promise.all([sumTallies(pool), sumTallies(pool)])
  expect(await total()).toEqual(rows[0])
  // Every number opens its list: the same span, channel and status.
  const { from, to } = (await operator.get('/overview')).body as { from: string; to: string }
  expect(await idsOf(`from=${from}&to=${to}&channel=email&status=lido`)).toEqual([reached])
  expect(await idsOf(`from=${from}&to=${to}&status=falhou`)).toEqual([failed])
})

test('the overview shows the oldest queued, the carriers of live workers by their worst state, and the webhooks', async () => {
  const lane = { channel: 'email', mode: 'live', carrier: 'smtp:relay', sent: 3, failed: 1, rate: null } as const
  await reportHealth(pool, 'a0000000-0000-7000-8000-000000000001', [{ ...lane, state: 'open' }])
  await reportHealth(pool, 'a0000000-0000-7000-8000-000000000002', [{ ...lane, state: 'paused' }])
  await database.pool.query(
    `insert into usage_tally select 'live', (now() at time zone 'America/Sao_Paulo')::date, id, 'sms', 'smpp:a', 2, 3, 0.24 from account limit 1`,
  )
  const { body } = await operator.get('/overview')
  expect(body).toMatchObject({
    usage: [{ channel: 'sms', carrier: 'smpp:a', messages: 2, units: 3, unit: 'partes', cost: 0.24 }],
  })
  expect(body).toMatchObject({
    carriers: [{ channel: 'email', carrier: 'smtp:relay', state: 'paused', workers: 2, sent: 6, failed: 2 }],
    webhooks: { active: 0, failing: 0, suspended: 0, oldest: null },
  })
  const { waiting: queued } = body as { waiting: { channel: string; state: string; count: number; oldest: string }[] }
  const first = queued.find(({ channel, state }) => channel === 'email' && state === 'queued')!
  expect(first.count).toBe(1)
  expect(Date.parse(first.oldest)).toBeLessThanOrEqual(Date.now())
  expect((await operator.get('/overview?mode=test')).body).toMatchObject({ waiting: [], carriers: [] })
})

test('the list finds by id, customID, recipient and part of the subject; filters add up; not reached is its own filter', async () => {
  expect(await idsOf('')).toEqual([waiting, failed, reached])
  expect(await idsOf(`q=${reached}`)).toEqual([reached])
  expect(await idsOf('q=contrato-1')).toEqual([reached])
  expect(await idsOf('q=JOAO@example.com')).toEqual([failed])
  expect(await idsOf(`q=${encodeURIComponent('(11) 98765-4321')}`)).toEqual([reached])
  expect(await idsOf('q=na%20FILA')).toEqual([waiting])
  expect(await idsOf('q=100%25')).toEqual([])
  expect(await idsOf('channel=sms')).toEqual([reached])
  expect(await idsOf('status=nao-alcancada')).toEqual([failed])
  expect(await idsOf('status=nao-alcancada&channel=sms')).toEqual([])
  expect(await idsOf('mode=test')).toEqual([])
  expect((await page('')).rows[1]!.deliveries).toMatchObject([{ label: 'Devolvido', tone: 'bad' }])
  for (const bad of ['channel=fax', 'status=x', 'from=ontem', 'cursor=x', 'q=%00', 'mode=prod'])
    expect((await operator.get(`/notifications?${bad}`)).status, bad).toBe(400)
})

test('the export has a line for each delivery, page by page, and no cell that a spreadsheet would run', async () => {
  const response = await fetch(`${url}/console/api/notifications.csv?channel=email`, { headers: { cookie: operator.cookie } })
  expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="notificacoes-\d{4}-\d\d-\d\d\.csv"$/)
  const lines = (await response.text()).trimEnd().split('\r\n')
  expect(lines).toHaveLength(5)
  expect(lines.filter(line => line.includes(`"${failed}"`))).toEqual([expect.stringContaining(`"'=HYPERLINK(""x"")"`)])
})

test('a page of all accounts is a range of the index for each account', async () => {
  const question = { accounts: [account.id, randomUUID()], mode: 'live', fromMs: null, toMs: null, before: null } as const
  const months = monthsOfPage(lowestId(Date.now()))!
  for (const { text: sql, values = [] } of [
    newestQuery(question, 50, months),
    newestQuery({ ...question, accounts: [account.id] }, 50, months),
    namedQuery(question, { customId: 'x', recipients: ['x@example.com'] }, 50),
  ]) {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, values)
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/Index (Only )?Scan Backward using notification_\w+account_id_mode/)
    expect(plan).not.toMatch(/Seq Scan/)
  }
})

test('the stream tells of a change, to those who may see it, and ends with the session', async () => {
  const sender = await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const listen = async (cookie: string) => {
    const { body } = await fetch(`${url}/console/api/live`, { headers: { cookie }, signal: stop.signal })
    const heard = { text: '', ended: false }
    void (async () => {
      for await (const chunk of body!.pipeThrough(new TextDecoderStream())) heard.text += chunk
      heard.ended = true
    })().catch(() => {})
    return heard
  }
  const [all, own] = [await listen(operator.cookie), await listen(sender.cookie)]
  await expect.poll(() => all.text + own.text).toMatch(/retry.*retry/s)
  // The reader starts from where things are when it comes to it.
  let id = ''
  await expect
    .poll(
      async () => {
        id = await accept()
        return all.text.includes('event: change') && own.text.includes('event: change')
      },
      { interval: 50 },
    )
    .toBe(true)
  id = await accept()
  await expect.poll(() => [all.text.includes(id), own.text.includes(id)]).toEqual([true, true])
  const foreign = await createAccount(pool)
  const theirs = ((await send(url, foreign.token, validSend)).body as { idEmail: string }).idEmail
  await expect.poll(() => all.text.includes(theirs)).toBe(true)
  id = await accept()
  await expect.poll(() => own.text.includes(id)).toBe(true)
  expect(own.text).not.toContain(theirs)
  await sender.post('/sign-out')
  await expect.poll(() => [all.ended, own.ended]).toEqual([false, true])
})

test('the pages: hashed files for a year, everything else the one page, under a policy without inline scripts', async () => {
  const shown = await fetch(`${url}/console/notifications?q=x`)
  expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'no-store'])
  const policy = shown.headers.get('content-security-policy')!
  expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]+';/)
  expect(policy).not.toContain('unsafe')
  const html = await shown.text()
  expect(html).toContain(/'nonce-([^']+)'/.exec(policy)![1])
  const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(html)![1]!
  const asset = await fetch(url + script, { headers: { 'accept-encoding': 'br' } })
  expect([asset.status, asset.headers.get('content-encoding'), asset.headers.get('cache-control')]).toEqual([
    200,
    'br',
    'public, max-age=31536000, immutable',
  ])
  expect((await fetch(`${url}/console/assets/nada.js`)).status).toBe(404)
  // Markup of senders: no origin, one script of ours, nothing from elsewhere, and in no page but ours.
  const frame = (await fetch(`${url}/console/frame`)).headers.get('content-security-policy')!
  expect(frame).toMatch(
    /^sandbox allow-scripts; default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'unsafe-inline'; img-src data:;/,
  )
  expect(frame).toContain("frame-ancestors 'self'")
  expect(await (await fetch(url, { headers: { accept: 'text/html' } })).text()).toContain('href="/console"')
})

test('where the pages were not built, the answer says how to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-console-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const unbuilt = await gatewayForTest(pool, {}, { console: { folder } })
  const answer = await fetch(`${unbuilt.url}/console`)
  expect(answer.status).toBe(503)
  expect(await answer.text()).toContain('npm run build')
})

test('the first load is at most 250 kB gzipped, and the charts are not part of it', () => {
  const folder = join(ROOT, 'dist/console')
  type Chunk = { file: string; css?: string[]; imports?: string[] }
  const chunks = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>
  const files = new Set<string>()
  const load = (name: string): void => {
    const { file, css = [], imports = [] } = chunks[name]!
    if (files.has(file)) return
    for (const path of [file, ...css]) files.add(path)
    for (const next of imports) load(next)
  }
  // The page itself, and the screen that it opens on.
  load('index.html')
  load('src/screens/overview/screen.tsx')
  expect([...files].some(name => name.includes('chart-drawing'))).toBe(false)
  const bytes = [...files].reduce((sum, name) => sum + readFileSync(join(folder, `${name}.gz`)).length, 0)
  expect(bytes).toBeGreaterThan(50_000)
  expect(bytes).toBeLessThan(250_000)
})

test('bulk sends have a range of their own in the index of the queue: the oldest of both kinds is the oldest', async () => {
  type Waiting = { channel: string; state: string; count: number; oldest: string }
  const queued = async (path: string, member: 'waiting' | 'rows', state = 'queued'): Promise<Waiting> =>
    ((await operator.get(path)).body as Record<typeof member, Waiting[]>)[member].find(
      row => row.channel === 'email' && row.state === state,
    )!
  const before = await queued('/overview', 'waiting')
  const [bulk, later] = [await accept(), await accept()]
  await pool.query("update delivery set bulk = true, due_at = now() - interval '2 hours' where notification_id = $1", [bulk])
  await pool.query("update delivery set due_at = now() + interval '2 hours' where notification_id = $1", [later])
  const after = await queued('/overview', 'waiting')
  expect(after.count).toBe(before.count + 1)
  expect(Date.parse(after.oldest)).toBeLessThan(Date.parse(before.oldest) - 3_600_000)
  expect(await queued('/operations/queue', 'rows')).toMatchObject({ count: after.count, oldest: after.oldest })
  expect(await queued('/operations/queue', 'rows', 'later')).toMatchObject({ count: 1 })
})

test('a search goes on beyond an empty page, and does not turn to the subjects before its end', async () => {
  const { id, token } = await createAccount(pool)
  const acceptHere = async (body: object): Promise<string> =>
    ((await send(url, token, { ...validSend, customID: 'contrato-9', ...body })).body as { idEmail: string }).idEmail
  const older = await acceptHere({ sms: { number: '11987654321', text: 'oi' } })
  await acceptHere({ subject: 'Sobre o contrato-9' })
  const size = { notifications: 1, batch: 1, batches: 1 }
  const read = (cursor: string | null) => {
    const query = { q: 'contrato-9', channel: 'sms', ...(cursor === null ? {} : { cursor }) }
    return searchPage(pool, { accounts: [id], mode: 'live' }, query, new Map(), size)
  }
  const first = await read(null)
  expect(first.notifications).toEqual([])
  expect((await read(first.next)).notifications).toMatchObject([{ id: older }])
})
