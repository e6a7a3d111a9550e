import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { workerReports } from '../../src/app/worker/worker-reports.js'
import { SendError } from '../../src/channels/provider.js'
import { channels } from '../../src/channels/registry.js'
import type { FailureNote } from '../../src/engine/deliver/failed-attempt.js'
import { readStates } from '../../src/store/carrier/health.js'
import { readTotals } from '../../src/store/carrier/totals.js'
import { countGivenUp, readOldestLate, readQueueDepth } from '../../src/store/delivery/queue-depth.js'
import { readLogLag } from '../../src/store/evidence/log-head.js'
import { openPool } from '../../src/store/postgres.js'
import { countStart, readStarts, readWorkers } from '../../src/store/processes.js'
import { insertEndpoint, readWebhookDepth } from '../../src/store/webhook/endpoints.js'
import { databaseForTest } from '../support/database/database.js'
import { readPlans } from '../support/database/plans.js'
import { createAccount, gatewayForFile, gatewayForTest, readMetrics } from '../support/gateway/gateway.js'
import { QUICK_TIMING, refused, ScriptedCarrier, workersForTests } from '../support/gateway/lanes.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { findProgram } from '../support/programs/other-programs.js'

/** What Prometheus reads: of the processes, of the queues, and of what workers report of themselves and their carriers. */
const { database, gateway, account } = await gatewayForFile()
const { work } = workersForTests(database.pool)

const accept = async (body: object = {}): Promise<string> =>
  ((await send(gateway.url, account.token, { ...validSend, ...body })).body as { idEmail: string }).idEmail

const described = (id: string) =>
  expect.poll(
    async () =>
      ((await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body as { description: string }).description,
  )

const metricOf = (metrics: string, name: string): number | undefined => {
  const line = metrics.split('\n').find(text => text.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

test('carriers and workers: calls by their end, their duration, the breaker, the rate, memory, starts and versions', async () => {
  const notes: FailureNote[] = []
  const carrier = new ScriptedCarrier(({ attempt }) => {
    if (attempt < 3) throw refused('temporary')
    return {}
  })
  const rate = { perSecond: 50, take: async (granted: number) => ({ granted, waitMs: 0 }), giveBack: async () => {} }
  const { lanes } = work({ carrier, options: { rate, onFailed: note => notes.push(note) } })
  const id = await accept()
  await described(id).toBe('Enviado')
  const [first, second] = [workerReports(database.pool, lanes), workerReports(database.pool, [])]
  await first.report()
  // Added up once: what was reported is not reported again.
  await first.report()
  await second.report()
  await countStart(database.pool, 'worker')
  await countStart(database.pool, 'worker')
  const metrics = await readMetrics(gateway.url)
  const labels = 'channel="email",mode="live",carrier="scripted"'
  const calls = (result: string) => metricOf(metrics, `carteiro_carrier_calls_total{${labels},result="${result}"}`)
  expect([calls('sent'), calls('temporary'), calls('permanent'), calls('throttled'), calls('uncertain')]).toEqual([1, 2, 0, 0, 0])
  expect(metricOf(metrics, `carteiro_carrier_call_seconds_count{${labels}}`)).toBe(3)
  expect(metricOf(metrics, `carteiro_carrier_call_seconds_bucket{${labels},le="+Inf"}`)).toBe(3)
  expect(metricOf(metrics, `carteiro_carrier_call_seconds_sum{${labels}}`)).toBeGreaterThan(0)
  expect(metricOf(metrics, `carteiro_carrier_workers{${labels},state="open"}`)).toBe(1)
  expect(metricOf(metrics, `carteiro_carrier_workers{${labels},state="paused"}`)).toBe(0)
  expect(metricOf(metrics, `carteiro_carrier_rate_limit{${labels}}`)).toBe(50)
  expect(metrics).toMatch(/^carteiro_workers\{version="\d+\.\d+\.\d+[^"]*"\} 2$/m)
  expect(metrics).toMatch(/^carteiro_worker_memory_bytes\{worker="[0-9a-f]{8}"\} \d{7,}$/m)
  expect(metrics).toMatch(/^carteiro_worker_cpu_seconds_total\{worker="[0-9a-f]{8}"\} [\d.]+$/m)
  expect(metrics).toMatch(/^carteiro_worker_in_flight\{worker="[0-9a-f]{8}"\} 0$/m)
  expect(metricOf(metrics, 'carteiro_process_starts_total{role="worker"}')).toBe(2)
  expect(metrics).toMatch(/^carteiro_build_info\{version="[^"]+",node="v\d+[^"]*"\} 1$/m)
  expect(metricOf(metrics, 'carteiro_disk_min_free_bytes')).toBe(512 * 1_048_576)
  await second.end()
  expect(await readWorkers(database.pool)).toHaveLength(1)

  const promtool = findProgram('promtool')
  if (promtool !== null) {
    const { stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: metrics, encoding: 'utf8' })
    expect(`${stdout}${stderr}`.split('\n').filter(line => line.startsWith('carteiro_'))).toEqual([])
  }
})

test('a carrier whose circuit breaker is open is shown as paused', async () => {
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('temporary')))
  const timing = { firstPauseMs: 600_000, longestPauseMs: 600_000 }
  const { lanes } = work({ name: 'failing', carrier, options: { timing, retryDelaysMs: Array<number>(30).fill(1) } })
  await accept()
  await expect.poll(() => lanes[0]!.health).toBe('paused')
  await workerReports(database.pool, lanes).report()
  const seen = (await readStates(database.pool)).filter(state => state.carrier === 'failing')
  expect(seen).toEqual([{ channel: 'email', mode: 'live', carrier: 'failing', state: 'paused', rate: null, workers: 1 }])
})

test('a carrier that failed again and again is shown as paused until it takes a message, also while it is probed', async () => {
  const atCalls: string[] = []
  const carrier = new ScriptedCarrier(() => {
    atCalls.push(lanes[0]!.health)
    if (atCalls.length <= 15) throw refused('temporary')
    return {}
  })
  const timing = { ...QUICK_TIMING, firstPauseMs: 20, longestPauseMs: 20 }
  const { lanes } = work({ name: 'probed', carrier, options: { timing, retryDelaysMs: Array<number>(30).fill(1) } })
  await described(await accept()).toBe('Enviado')
  expect(atCalls).toEqual([...Array(10).fill('open'), ...Array(6).fill('paused')])
  expect(lanes[0]!.health).toBe('open')
})

test('what could not be reported is part of the next report', async () => {
  const { lanes } = work({ name: 'other', carrier: new ScriptedCarrier() })
  await described(await accept()).toBe('Enviado')
  const broken = openPool({ url: database.url.replace(/\/[^/?]+(?=\?|$)/, '/nowhere'), size: 1, onError: () => {} })
  await expect(workerReports(broken, lanes).end()).rejects.toThrow()
  await broken.end()
  await workerReports(database.pool, lanes).end()
  expect((await readTotals(database.pool)).find(({ carrier }) => carrier === 'other')).toMatchObject({ sent: 1 })
})

test('every failed attempt is told once, with its reason and code, and without what the carrier quoted', async () => {
  const notes: FailureNote[] = []
  const quoted = 'O servidor recusou maria.silva@example.com, +55 11 98765-4321, "Rua das Flores", https://x.example/n/abcdefgh.'
  const carrier = new ScriptedCarrier(({ attempt }) => {
    if (attempt === 1) throw new SendError('temporary', 'A operadora está fora do ar.', { answer: '451 4.7.1 maria@example.com' })
    throw new SendError('permanent', quoted, { answer: '550 Maria da Silva' })
  })
  work({ name: 'quoting', carrier, options: { onFailed: note => notes.push(note) } })
  const notification = await accept()
  await described(notification).toBe('Falha no envio')
  const common = { notification, channel: 'email', mode: 'live', carrier: 'quoting' }
  expect(notes).toEqual([
    {
      ...common,
      attempt: 1,
      outcome: 'retried',
      code: '451 4.7.1',
      reason: 'A operadora está fora do ar.',
      delayMs: expect.any(Number),
    },
    {
      ...common,
      attempt: 2,
      outcome: 'failed',
      code: '550',
      reason: 'O servidor recusou …@…, …, "…", https://x.example/n/….',
      delayMs: null,
    },
  ])
})

test('what gave up within the last hour is counted by channel and mode, whatever gave up before, until somebody retries it', async () => {
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('temporary')))
  work({ name: 'away', carrier, options: { retryDelaysMs: [] } })
  const givenUp = async () =>
    (await countGivenUp(database.pool, channels)).find(({ channel, mode }) => channel === 'email' && mode === 'live')!.count
  const before = await givenUp()
  const ids = await Promise.all(Array.from({ length: 3 }, () => accept()))
  for (const id of ids) await described(id).toBe('Falha no envio')
  expect(await givenUp()).toBe(before + 3)
  const setBack = "update delivery set failed_at = now() - interval '61 minutes' where notification_id = $1"
  await database.pool.query(setBack, [ids[0]])
  await database.pool.query(
    "update delivery set state = 'queued', due_at = now() + interval '1 hour' where notification_id = $1",
    [ids[1]],
  )
  expect(await givenUp()).toBe(before + 1)
  const metrics = await readMetrics(gateway.url)
  expect(metricOf(metrics, 'carteiro_deliveries_given_up{channel="voice",mode="live"}')).toBe(0)
})

test('what should have moved more than 15 minutes ago is shown as standing still, and so is a lease that nobody took up', async () => {
  const own = await databaseForTest()
  const { id } = await createAccount(own.pool)
  const watched = await gatewayForTest(own.pool)
  await own.pool.query(
    `with made as materialized (
       select uuidv7() as id, state, channel, minutes from unnest($2::text[], $3::text[], $4::int[]) as d(state, channel, minutes)
     ), notifications as (
       insert into notification (id, account_id, mode, accepted_at, recipient_name, subject, content)
       select id, $1, 'live', now(), 'Maria', 'Aviso', '' from made)
     insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, failed_at, lease_until, lease_owner)
     select id, channel, $1, 'live', state, at, at, 1, 'always', 'x', '{}', at, at, $1 from (select *, now() - minutes * interval '1 minute' as at from made) m`,
    [
      id,
      ['queued', 'queued', 'queued', 'waiting', 'sending', 'uncertain', 'unresolved', 'dead'],
      ['sms', 'sms', 'email', 'voice', 'letter', 'sms', 'sms', 'sms'],
      [16, 1, 14, 16, 16, 16, 16, 16],
    ],
  )
  const still = (await readMetrics(watched.url))
    .split('\n')
    .filter(line => line.startsWith('carteiro_deliveries_standing_still{'))
  const labelled = (channel: string, state: string, count: number): string =>
    `carteiro_deliveries_standing_still{channel="${channel}",mode="live",state="${state}"} ${count}`
  expect(still.sort()).toEqual([labelled('letter', 'sending', 1), labelled('sms', 'queued', 2), labelled('voice', 'waiting', 1)])
})

test('the age of the oldest delivery counts from its acceptance, and retries do not reset it', async () => {
  const own = await databaseForTest()
  const { token } = await createAccount(own.pool)
  const watched = await gatewayForTest(own.pool)
  const ids: string[] = []
  for (const body of [{}, { sms: { number: '11987654321', typeSend: '2' } }])
    ids.push(((await send(watched.url, token, { ...validSend, ...body })).body as { idEmail: string }).idEmail)
  // Ten minutes old, tried three times, and due again in an hour: today's queue says that nothing waits.
  await own.tamper("update notification set accepted_at = now() - interval '10 minutes' where id = $1", [ids[0]])
  await own.pool.query(
    "update delivery set attempt = 3, due_at = now() + interval '1 hour' where notification_id = $1 and channel = 'email'",
    [ids[0]],
  )
  await own.pool.query("update delivery set due_at = now() + interval '1 hour' where notification_id = $1", [ids[1]])
  const metrics = await readMetrics(watched.url)
  expect(metricOf(metrics, 'carteiro_deliveries_oldest_seconds{channel="email",mode="live",state="queued"}')).toBe(0)
  expect(metricOf(metrics, 'carteiro_deliveries_age_seconds{channel="email",mode="live"}')).toBeGreaterThanOrEqual(600)
  // One that was never tried and is not due yet has no age.
  expect(metricOf(metrics, 'carteiro_deliveries_age_seconds{channel="sms",mode="live"}')).toBe(0)
  expect(metricOf(metrics, 'carteiro_deliveries_age_seconds{channel="voice",mode="test"}')).toBe(0)
})

test('a send whose date has just come does not hide an older one that waits', async () => {
  const own = await databaseForTest()
  const { token } = await createAccount(own.pool)
  const watched = await gatewayForTest(own.pool)
  const ids: string[] = []
  for (let sent = 0; sent < 2; sent++) ids.push(((await send(watched.url, token, validSend)).body as { idEmail: string }).idEmail)
  const dates = [
    ["accepted_at = now() - interval '7 days', send_at = now()", ids[0]],
    ["accepted_at = now() - interval '10 minutes'", ids[1]],
  ] as const
  for (const [date, id] of dates) await own.tamper(`update notification set ${date} where id = $1`, [id])
  await own.pool.query("update delivery set attempt = 1, due_at = now() + interval '1 hour'")
  const [oldest] = await readOldestLate(own.pool, ['email'])
  expect(oldest!.seconds).toBeGreaterThanOrEqual(600)
  expect(oldest!.seconds).toBeLessThan(7 * 86_400)
  await own.pool.query("update delivery set state = 'done' where notification_id = $1", [ids[1]])
  expect((await readOldestLate(own.pool, ['email']))[0]!.seconds).toBeLessThan(600)
})

test('reading the metrics of a gateway with free connections shows no query that waits', async () => {
  const own = await databaseForTest()
  // Every gateway reads its figures anew: one keeps them for a few seconds.
  for (let reading = 0; reading < 3; reading++) {
    const watched = await gatewayForTest(own.pool)
    await own.pool.query('select')
    expect(own.pool.idleCount).toBeGreaterThan(0)
    expect(metricOf(await readMetrics(watched.url), 'carteiro_database_waiting')).toBe(0)
  }
})

test('queries that wait because all connections are in use are counted', async () => {
  const own = await databaseForTest()
  const pool = openPool({ url: own.url, size: 2, onError: () => {} })
  onTestFinished(() => pool.end())
  const watched = await gatewayForTest(pool)
  const taken = await Promise.all([pool.connect(), pool.connect()])
  const waiting = Promise.all([1, 2, 3].map(() => pool.query('select')))
  await expect.poll(() => pool.waitingCount).toBeGreaterThanOrEqual(3)
  const before = pool.waitingCount
  const reading = readMetrics(watched.url)
  // The reading has begun when its own queries wait too.
  await expect.poll(() => pool.waitingCount).toBeGreaterThan(before)
  for (const client of taken) client.release()
  await waiting
  expect(metricOf(await reading, 'carteiro_database_waiting')).toBeGreaterThanOrEqual(before)
})

test('the messages of a suspended webhook, however many, hide nothing of what waits for the others', async () => {
  const own = await databaseForTest()
  const { id: account } = await createAccount(own.pool)
  const [suspended, active] = ['00000000-0000-7000-8000-000000000001', 'ffffffff-0000-7000-8000-000000000001']
  const all = { account, mode: 'live', channels: null, statuses: null, version: 'v2', secret: Buffer.alloc(1) } as const
  for (const id of [suspended, active]) await insertEndpoint(own.pool, { ...all, id, url: 'https://example.com/' })
  await own.pool.query("update webhook_endpoint set disabled_at = now(), disabled_reason = 'failing' where id = $1", [suspended])
  const fill = `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, queued_at)
    select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, now() - interval '20 minutes' from generate_series(1, $2::int)`
  await own.pool.query(fill, [suspended, 50_001])
  await own.pool.query(fill, [active, 3])
  const { queued, oldestSeconds, suspended: count } = await readWebhookDepth(own.pool)
  expect({ queued, count }).toEqual({ queued: 3, count: 1 })
  expect(oldestSeconds).toBeGreaterThanOrEqual(1_200)
})

test('reading the metrics costs the same however much waits: counts stop, and every statement has its index', async () => {
  const own = await databaseForTest()
  const { id } = await createAccount(own.pool)
  await own.pool.query(
    `with made as materialized (select uuidv7() as id, n from generate_series(1, 40) n), notifications as (
       insert into notification (id, account_id, mode, accepted_at, recipient_name, subject, content)
       select id, $1, 'live', now(), 'Maria', 'Aviso', '' from made)
     insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, lease_until, lease_owner)
     select id, case when n % 2 = 0 then 'email' else 'sms' end, $1, 'live', s.state, now(), now(), 1, 'always', 'x', '{}',
       case when s.state = 'sending' then now() + interval '1 hour' end, case when s.state = 'sending' then $1::uuid end
     from made cross join lateral (select (array['queued', 'sending', 'uncertain', 'dead'])[1 + n / 2 % 4] as state) s`,
    [id],
  )
  const depths = await readQueueDepth(own.pool, channels, 3)
  expect(depths.find(({ channel, state }) => channel === 'sms' && state === 'queued')?.count).toBe(3)
  // What gave up long ago on one channel hides nothing of another.
  expect(
    depths
      .filter(({ state }) => state === 'dead')
      .map(({ channel, count }) => `${channel} ${count}`)
      .sort(),
  ).toEqual(['email 3', 'sms 3'])
  const plans = await readPlans(own.pool, async () => {
    await readQueueDepth(own.pool, channels)
    await readOldestLate(own.pool, channels)
    await countGivenUp(own.pool, channels)
    await readWebhookDepth(own.pool)
    await readLogLag(own.pool)
    for (const read of [readTotals, readStates, readWorkers, readStarts]) await read(own.pool)
  }, ['enable_seqscan = off', 'enable_bitmapscan = off'])
  expect(plans).toHaveLength(9)
  const { plan: waiting } = plans.find(({ sql }) => sql.includes('from webhook_message'))!
  expect(waiting).toContain('using webhook_message_order')
  expect(waiting).not.toContain('Sort')
  // Each late delivery is looked up by its key, however many there are.
  const { plan: late } = plans.find(({ sql }) => sql.includes('n.send_at'))!
  expect(late).not.toMatch(/(Merge|Hash) Join/)
  for (const { sql, plan } of plans) {
    expect(
      plan.split('\n').filter(line => /Seq Scan on (delivery|notification|webhook_message|event)/.test(line)),
      sql,
    ).toEqual([])
  }
})
