import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Queryable, type Transaction, transaction } from '../../src/store/postgres.js'
import { insertEndpoint, recordHealth, updateEndpoint } from '../../src/store/webhook/endpoints.js'
import { releaseMessages } from '../../src/store/webhook/leases.js'
import { claimMessages, findFront, makeMessagesDue, settleMessages, type WebhookClaim } from '../../src/store/webhook/queue.js'
import { createDatabase, databaseForTest, type TestDatabase } from '../support/database/database.js'
import { createAccount } from '../support/gateway/gateway.js'

/** What a claim costs, however much was sent before. */
let database: TestDatabase
let account: string
const endpoints = [crypto.randomUUID(), crypto.randomUUID()].sort()
const owner = crypto.randomUUID()

beforeAll(async () => {
  database = await createDatabase()
  account = (await createAccount(database.pool)).id
  const all = { channels: null, statuses: null, version: 'v2', secret: Buffer.alloc(1) } as const
  for (const id of endpoints)
    await insertEndpoint(database.pool, { id, account, mode: 'live', url: `https://example.com/${id}`, ...all })
})

afterAll(() => database.drop())

const question = {
  ...{ owner, leaseMs: 60_000, limit: 512, capacity: 100, perScope: 1_000, failuresToPause: 5, ended: [] },
  endpoints: new Map(),
  scopes: new Map(),
}

const claim = (db: Transaction): Promise<WebhookClaim[]> => claimMessages(db, question)

/** Rows of the queue that this connection has read. */
const countRead = async (db: Queryable): Promise<number> => {
  const sql = "select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'webhook_message'"
  return (await db.query<{ read: number }>(sql)).rows[0]!.read
}

test('a claim reads queued messages and no sent ones, although the last analyze saw all of them queued', async () => {
  const { pool } = database
  for (const endpoint of endpoints) {
    await pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq)
       select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2 from generate_series(1, 5000)`,
      [endpoint],
    )
  }
  await database.asOwner('analyze webhook_message, webhook_endpoint')
  await pool.query(
    `update webhook_message set state = 'done'
     where id not in (select id from webhook_message where endpoint_id = $1 order by position desc limit 50)`,
    [endpoints[1]],
  )
  await transaction(pool, async db => {
    const before = await countRead(db)
    expect((await claim(db)).map(({ endpoint }) => endpoint)).toEqual(Array(50).fill(endpoints[1]))
    expect((await countRead(db)) - before).toBeLessThan(1_000)
  })
})

test('a claim contains everything about its endpoint', async () => {
  const { pool } = database
  await pool.query("update webhook_message set state = 'done'")
  const secret = Buffer.from('in use')
  const previous = Buffer.from('in use until tomorrow')
  await pool.query(
    `update webhook_endpoint set secret = $2, previous_secret = $3, previous_secret_until = now() + interval '1 day', failing_since = now() where id = $1`,
    [endpoints[0], secret, previous],
  )
  const notification = crypto.randomUUID()
  const createdAt = new Date('2026-11-15T10:20:30.456Z')
  const ids = [crypto.randomUUID(), crypto.randomUUID()]
  for (const [index, id] of ids.entries()) {
    await pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, created_at) values ($1, $2, $3, 'voice', 7, $4)`,
      [id, endpoints[index], notification, createdAt],
    )
  }
  const claims = await transaction(pool, claim)
  const common = {
    account,
    mode: 'live',
    notification,
    channel: 'voice',
    seq: 7,
    attempt: 1,
    attemptsSinceQueued: 1,
    createdAt,
    ageMs: expect.any(Number),
    lease: expect.any(Number),
  }
  const shown = (index: number) => ({
    id: ids[index],
    endpoint: endpoints[index],
    url: `https://example.com/${endpoints[index]}`,
  })
  expect(claims).toEqual([
    { ...common, ...shown(0), version: 'v2', secrets: [secret, previous], endpointFailing: true },
    { ...common, ...shown(1), version: 'v2', secrets: [Buffer.alloc(1)], endpointFailing: false },
  ])
  const at = new Date('2026-07-18T04:01:32.123Z')
  const lost = await settleMessages(
    pool,
    claims.map(({ id, attempt, url, version }) => ({
      message: id,
      attempt,
      state: 'done',
      delayMs: null,
      url,
      version,
      at,
      durationMs: 1,
      status: 204,
      error: null,
      responseHeaders: 'a: "b", {c}\n\\',
      responseBody: '',
    })),
  )
  expect(lost).toEqual(new Set())
  const { rows } = await pool.query(
    `select m.state, t.url, t.payload_version as version, t.at, t.duration_ms as "durationMs", t.status, t.error, t.response_headers as headers,
       t.response_body as body
     from webhook_message m join webhook_attempt t on t.message_id = m.id where m.id = any($1::uuid[]) order by m.position`,
    [ids],
  )
  const logged = { state: 'done', at, durationMs: 1, status: 204, error: null, headers: 'a: "b", {c}\n\\', body: '' }
  expect(rows).toEqual(claims.map(({ url, version }) => ({ ...logged, url, version })))
})

describe('the front of the queue', () => {
  const MINUTE = 60_000
  const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * MINUTE)

  async function queue(endpoint: string, count: number, minutes: number): Promise<void> {
    await database.pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, due_at)
       select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, $3 from generate_series(1, $2)`,
      [endpoint, count, minutesAgo(minutes)],
    )
  }

  const setEndpoint = (id: string, change: string): Promise<unknown> =>
    database.pool.query(`update webhook_endpoint set ${change} where id = $1`, [id])

  const claimFrom = async (from: Date): Promise<string[]> =>
    (await transaction(database.pool, db => claimMessages(db, { ...question, from }))).map(({ endpoint }) => endpoint)

  /** How many minutes ago. */
  const front = async (from: Date | null = null): Promise<number> =>
    Math.round((Date.now() - (await findFront(database.pool, 5, from)).getTime()) / 6_000) / 10

  beforeEach(async () => {
    await database.pool.query('delete from webhook_message')
    await database.pool.query('delete from webhook_lease')
    await database.pool.query(
      'update webhook_endpoint set failures = 0, failing_since = null, failed_at = null, paused_until = null, asked_until = null, disabled_at = null, disabled_reason = null',
    )
  })

  test('is the earliest time of the messages of endpoints that work, or a moment ago', async () => {
    const [first, second] = endpoints as [string, string]
    expect(await front()).toBe(0.2)
    await queue(first, 2, -60)
    expect(await front()).toBe(0.2)
    await queue(first, 2, 30)
    await queue(second, 2, 60)
    expect([await front(), await front(minutesAgo(45)), await front(minutesAgo(15))]).toEqual([60, 30, 0.2])
    const apart = [
      "disabled_at = now(), disabled_reason = 'manual'",
      'failures = 5',
      "paused_until = now() + interval '1 hour'",
      'url = null',
    ]
    for (const change of apart) {
      const { rows } = await database.pool.query<{ url: string }>('select url from webhook_endpoint where id = $1', [second])
      await setEndpoint(second, change)
      expect([change, await front()]).toEqual([change, 30])
      await setEndpoint(
        second,
        `disabled_at = null, disabled_reason = null, failures = 0, paused_until = null, url = '${rows[0]!.url}'`,
      )
    }
    expect(await front()).toBe(60)
  })

  test('is where claims begin, but for endpoints that fail or were paused since', async () => {
    const [first, second] = endpoints as [string, string]
    await queue(first, 1, 10)
    await queue(second, 2, 10)
    await setEndpoint(second, "failures = 7, paused_until = now() + interval '1 minute'")
    expect(await claimFrom(minutesAgo(5))).toEqual([])
    // However long ago its pause ended, as after a night without a worker.
    await setEndpoint(second, "paused_until = now() - interval '1 hour'")
    expect(await claimFrom(minutesAgo(5))).toEqual([second])
    // A pause that the endpoint asked for, without failures.
    await setEndpoint(second, "failures = 0, paused_until = now() - interval '1 second'")
    expect(await claimFrom(minutesAgo(5))).toEqual([second])
    expect(await claimFrom(minutesAgo(11))).toEqual([first])
  })

  test('is no limit for an endpoint that works again, whoever found that out, and its backlog is the front then', async () => {
    const [id] = endpoints as [string]
    const rules = { failuresToPause: 5, maxPauseMs: MINUTE, suspendAfterMs: 1e9, quietMs: 1e9 }
    const recover = () =>
      recordHealth(database.pool, [{ endpoint: id, succeeded: true, failed: 0, pauseMs: 0, gone: false }], rules)
    const switchOn = () => updateEndpoint(database.pool, { account, mode: 'live' }, id, { active: true })
    const move = () => updateEndpoint(database.pool, { account, mode: 'live' }, id, { url: 'https://example.com/new' })
    for (const change of [recover, switchOn, move]) {
      await setEndpoint(id, "failures = 7, paused_until = now() - interval '20 minutes'")
      await queue(id, 1, 10)
      await change()
      expect(await front(minutesAgo(5))).toBe(10)
      expect(await claimFrom(minutesAgo(5))).toEqual([id])
      await database.pool.query("update webhook_message set state = 'done'")
      expect(await front(minutesAgo(5))).toBe(0.2)
    }
    // A pause that a success ends.
    await setEndpoint(id, "failures = 1, paused_until = now() + interval '20 minutes'")
    await queue(id, 1, 10)
    await recover()
    expect(await claimFrom(minutesAgo(5))).toEqual([id])
  })

  test('endpoints that were paused and have no messages take nobody’s place', async () => {
    const { pool } = database
    const [id] = endpoints as [string]
    await pool.query(
      `insert into webhook_endpoint (id, account_id, mode, url, payload_version, secret, paused_until)
       select gen_random_uuid(), $1, 'live', 'https://example.com/idle', 'v2', '\\x00', now() from generate_series(1, 3000)`,
      [account],
    )
    await queue(id, 20, 10)
    expect(await claimFrom(minutesAgo(5))).toEqual([])
    await setEndpoint(id, 'paused_until = now()')
    expect(await claimFrom(minutesAgo(5))).toHaveLength(20)
    await pool.query("delete from webhook_endpoint where url = 'https://example.com/idle'")
  })

  test('is before a message that is given back', async () => {
    const [id] = endpoints as [string]
    await queue(id, 1, 10)
    const claims = await transaction(database.pool, claim)
    expect(claims).toHaveLength(1)
    // Also while it is under way.
    expect(await front()).toBe(10)
    await releaseMessages(database.pool, owner, claims)
    expect(await front()).toBe(10)
    expect(await claimFrom(minutesAgo(10.1))).toEqual([id])
  })

  test('beside a long snapshot, a claim that begins there reads nothing of what was taken before', async () => {
    const { pool, url } = database
    const snapshot = new pg.Client({ connectionString: url })
    await snapshot.connect()
    onTestFinished(() => snapshot.end())
    await snapshot.query('begin isolation level repeatable read')
    await snapshot.query('select from webhook_message')
    for (const endpoint of endpoints) await queue(endpoint, 3_000, 60)
    await pool.query("update webhook_message set state = 'done'")
    // A queue that is being worked off: what is left became due later than what was taken.
    for (const endpoint of endpoints) await queue(endpoint, 20, 20)
    const entriesRead = (work: (db: Transaction) => Promise<unknown>): Promise<number> =>
      transaction(pool, async db => {
        const sql = `select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as read from pg_index where indrelid = 'webhook_message'::regclass`
        const before = (await db.query<{ read: number }>(sql)).rows[0]!.read
        await work(db)
        const read = (await db.query<{ read: number }>(sql)).rows[0]!.read - before
        await db.query('delete from webhook_lease')
        return read
      })
    expect(await entriesRead(claim)).toBeGreaterThan(6_000)
    const from = await findFront(pool, 5, null)
    expect(Math.round((Date.now() - from.getTime()) / MINUTE)).toBe(20)
    const limited = { ...question, from }
    expect(await entriesRead(async db => expect(await claimMessages(db, limited)).toHaveLength(40))).toBeLessThan(500)
    expect(await entriesRead(db => findFront(db, 5, from))).toBeLessThan(100)
  })
})

test('a claim of a long queue compares each message with those of its notification alone, also before the first analyze', async () => {
  const fresh = await databaseForTest()
  const { id } = await createAccount(fresh.pool)
  const endpoint = crypto.randomUUID()
  const all = { channels: null, statuses: null, version: 'v2', secret: Buffer.alloc(1) } as const
  await insertEndpoint(fresh.pool, { id: endpoint, account: id, mode: 'live', url: 'https://example.com/long', ...all })
  await transaction(fresh.pool, async db => {
    await db.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq)
       select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2 from generate_series(1, 2000)`,
      [endpoint],
    )
    const before = await countRead(db)
    expect(await claim(db)).toHaveLength(100)
    expect((await countRead(db)) - before).toBeLessThan(5_000)
  })
})

test('an ordered id grows with time', async () => {
  const next = async (): Promise<string> => (await database.pool.query<{ id: string }>('select ordered_id() as id')).rows[0]!.id
  const milliseconds = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16)
  const first = await next()
  const ids = [first]
  // Ids of the same millisecond have no order.
  const ordered = [first]
  while (ordered.length < 20) {
    const id = await next()
    ids.push(id)
    if (milliseconds(id) !== milliseconds(ordered.at(-1)!)) ordered.push(id)
  }
  expect(ordered).toEqual(ordered.toSorted())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Math.abs(milliseconds(first) - Date.now())).toBeLessThan(60_000)
})

test('what may not overtake a message that is put off waits as long as it, and is not read by every claim', async () => {
  const { pool } = database
  await pool.query('delete from webhook_message')
  const notification = crypto.randomUUID()
  const insert = (seq: number, channel: string) =>
    pool.query('insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq) values ($1, $2, $3, $4, $5)', [
      crypto.randomUUID(),
      endpoints[1],
      notification,
      channel,
      seq,
    ])
  await insert(2, 'email')
  const waits = async () => {
    const { rows } = await pool.query<{ seq: number; channel: string; waits: boolean }>(
      "select event_seq as seq, channel, due_at > now() + interval '4 minutes' as waits from webhook_message order by channel, event_seq",
    )
    return rows.map(({ seq, channel, waits }) => `${channel} ${seq}${waits ? ' waits' : ''}`)
  }
  const putOff = async (): Promise<void> => {
    const [first] = await transaction(pool, claim)
    expect(first).toMatchObject({ seq: 2, channel: 'email' })
    const { id, attempt, url, version } = first!
    const outcome = { durationMs: 1, status: 500, error: 'x', responseHeaders: null, responseBody: null }
    await settleMessages(pool, [
      { message: id, attempt, state: 'queued', delayMs: 300_000, url, version, at: new Date(), ...outcome },
    ])
  }
  await insert(3, 'email')
  await insert(4, 'email')
  await insert(3, 'sms')
  await pool.query("update webhook_message set due_at = now() + interval '1 hour' where channel = 'sms'")
  await putOff()
  expect(await waits()).toEqual(['email 2 waits', 'email 3 waits', 'email 4 waits', 'sms 3 waits'])
  // After its third attempt it is overtaken.
  await pool.query("update webhook_message set due_at = now() where channel = 'email'")
  await putOff()
  await pool.query("update webhook_message set due_at = now() where channel = 'email'")
  await putOff()
  expect(await waits()).toEqual(['email 2 waits', 'email 3', 'email 4', 'sms 3 waits'])
})

test('a message waits for an earlier one that is under way, although that was put off and may be overtaken', async () => {
  const { pool } = database
  await pool.query('delete from webhook_message')
  await pool.query('delete from webhook_lease')
  const notification = crypto.randomUUID()
  for (const seq of [2, 3])
    await pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, attempt) values ($1, $2, $3, 'email', $4, 3)`,
      [crypto.randomUUID(), endpoints[1], notification, seq],
    )
  expect((await transaction(pool, claim)).map(({ seq }) => seq)).toEqual([2])
  await pool.query("update webhook_message set due_at = now() + interval '1 hour' where event_seq = 2")
  expect(await transaction(pool, claim)).toEqual([])
  await pool.query('delete from webhook_lease')
  expect((await transaction(pool, claim)).map(({ seq }) => seq)).toEqual([3])
})

test('an endpoint that works again gets its next five thousand messages at once, and the others at their time', async () => {
  const { pool } = database
  await pool.query('delete from webhook_message')
  await pool.query(
    `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, due_at)
     select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, now() + n * interval '1 minute' from generate_series(1, 5100) n`,
    [endpoints[1]],
  )
  await makeMessagesDue(pool, [endpoints[1]!])
  const { rows } = await pool.query<{ due: number; first: number }>(
    `select count(*) filter (where due_at <= now())::int as due,
       extract(epoch from min(due_at) filter (where due_at > now()) - now())::int / 60 as first from webhook_message`,
  )
  expect(rows[0]!.due).toBe(5_000)
  expect(rows[0]!.first).toBeGreaterThan(4_990)
})
