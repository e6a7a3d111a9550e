import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Queryable, transaction } from '../../src/store/postgres.js'
import { insertEndpoint } from '../../src/store/webhook/endpoints.js'
import { claimMessages, settleMessages, type WebhookClaim } from '../../src/store/webhook/queue.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createAccount } from '../support/gateway.js'

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

const question = { owner, leaseMs: 60_000, limit: 512, capacity: 100, endpoints: new Map(), failuresToPause: 5 }

const claim = (db: Queryable): Promise<WebhookClaim[]> => claimMessages(db, { ...question, perScope: 1_000, scopes: new Map() })

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
  const claims = await claim(pool)
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
  const settled = await settleMessages(
    pool,
    claims.map(({ id, attempt, url, version }) => ({
      message: id,
      owner,
      attempt,
      state: 'done',
      delayMs: null,
      url,
      version,
      at: new Date(),
      durationMs: 1,
      status: 204,
      error: null,
      responseHeaders: '',
      responseBody: '',
    })),
  )
  expect(settled).toEqual(new Set(ids))
})

test('an ordered id grows with time', async () => {
  const ids: string[] = []
  for (let count = 0; count < 20; count++) {
    ids.push((await database.pool.query<{ id: string }>('select ordered_id() as id')).rows[0]!.id)
    await sleep(2)
  }
  expect(ids).toEqual(ids.toSorted())
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Math.abs(Number.parseInt(ids[0]!.replace('-', '').slice(0, 12), 16) - Date.now())).toBeLessThan(60_000)
})
