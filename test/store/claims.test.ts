import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { recordChanges } from '../../src/engine/record/record.js'
import { putBackClaims, putBackDelivery } from '../../src/store/delivery/claim-returns.js'
import {
  type Claim,
  type ClaimQuestion,
  claimDeliveries,
  claimFailovers,
  findExpiredLeases,
  findFront,
  renewLeases,
} from '../../src/store/delivery/claims.js'
import { openPool, type Pool, type Queryable } from '../../src/store/postgres.js'
import { databaseForTest, type TestDatabase } from '../support/database/database.js'
import { createAccount } from '../support/gateway/gateway.js'

const OWNER = '5f0c4b52-6a0f-4c0e-9a39-0d0c7a1f8f11'

/** One connection, so that plans are kept and its statistics are all there are. */
async function databaseWithAccounts(count: number): Promise<{ pool: Pool; url: string; database: TestDatabase }> {
  const database = await databaseForTest()
  const { url } = database
  const pool = openPool({ url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  for (let n = 0; n < count; n++) await createAccount(pool)
  return { pool, url, database }
}

const singleConnection = async (): Promise<Pool> => (await databaseWithAccounts(1)).pool

/** As many for every account. */
async function queue(pool: Pool, count: number, sinceHours = 0): Promise<void> {
  await pool.query(
    `with made as materialized (select uuidv7() as id, a.id as account_id from account a, generate_series(1, $1::int)), notifications as (
       insert into notification (id, account_id, mode, accepted_at, recipient_name, subject, content)
       select id, account_id, 'live', now(), 'Maria', 'Aviso', '<p>Aviso</p>' from made
     ), events as (
       insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
       select id, 1, now(), 'accepted', 'api', '{}', '', sha256(''), sha256(''), sha256(uuid_send(id)) from made
     )
     insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request)
     select id, 'email', account_id, 'live', 'queued', now() - $2::int * interval '1 hour', now(), 1, 'always', 'maria@example.com', '{}' from made`,
    [count, sinceHours],
  )
}

test('content comes with the claim of an e-mail where it is small; what is large, or not sent by the channel, is left where it is', async () => {
  const { pool, database } = await databaseWithAccounts(1)
  await queue(pool, 3)
  const { rows } = await pool.query('select notification_id as id from delivery order by 1')
  const [small, large, sms] = rows.map(({ id }) => id as string)
  await database.tamper("update notification set content = repeat('é', 40000) where id = $1", [large])
  await pool.query("update delivery set channel = 'sms' where notification_id = $1", [sms])
  const claims = [...(await claim(pool, 10)), ...(await look(pool, 10, { channel: 'sms', carrier: 'smpp', withContent: false }))]
  const brought = new Map(claims.map(({ notification, content, contentSize }) => [notification, { content, contentSize }]))
  expect(brought.get(small!)).toEqual({ content: '<p>Aviso</p>', contentSize: 12 })
  expect(brought.get(large!)).toEqual({ content: null, contentSize: 80_000 })
  expect(brought.get(sms!)).toEqual({ content: null, contentSize: 12 })
})

const claim = (db: Queryable, limit: number, bulkLimit = limit): Promise<Claim[]> => look(db, limit, { bulkLimit })

const look = (db: Queryable, limit: number, more: Partial<ClaimQuestion> = {}): Promise<Claim[]> =>
  claimDeliveries(db, {
    channel: 'email',
    mode: 'live',
    carrier: 'smtp',
    rank: 0,
    owner: OWNER,
    limit,
    leaseMs: 60_000,
    withContent: true,
    ...more,
  })

test('a claim that begins at a time leaves what became due before it', async () => {
  const { pool } = await databaseWithAccounts(1)
  await queue(pool, 1)
  await queue(pool, 1, 1)
  expect(await look(pool, 10, { from: minutesAgo(1) })).toHaveLength(1)
  expect(await look(pool, 10)).toHaveLength(1)
})

const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000)

test('the front of a queue is the earliest time of all that is in it, or a moment ago', async () => {
  const { pool } = await databaseWithAccounts(3)
  const lane = { channel: 'email', mode: 'live', carrier: 'smtp' } as const
  /** How many minutes ago. */
  const front = async (from: Date | null = null, more = {}): Promise<number> =>
    Math.round((Date.now() - (await findFront(pool, { ...lane, ...more }, from)).getTime()) / 6_000) / 10
  expect(await front()).toBe(0.2)
  await queue(pool, 3)
  expect(await front()).toBe(0.2)
  // Each of the three accounts has one of them. The earliest is of a batch, or not.
  for (const [hours, bulk] of [
    [3, true],
    [2, false],
  ] as const) {
    await queue(pool, 3, 1)
    await pool.query(
      `update delivery set bulk = $1, due_at = now() - $2::int * interval '1 hour' where notification_id = (
         select notification_id from delivery where due_at < now() - interval '50 minutes' order by account_id desc limit 1)`,
      [bulk, hours],
    )
    expect(await front()).toBe(hours * 60)
    expect(await front(minutesAgo(hours * 60 - 1))).toBe(60)
    expect(await front(minutesAgo(30))).toBe(0.2)
    expect([await front(null, { channel: 'sms' }), await front(null, { mode: 'test' })]).toEqual([0.2, 0.2])
    await pool.query("update delivery set bound_carrier = 'other' where due_at < now() - interval '50 minutes'")
    expect([await front(), await front(null, { carrier: 'other' })]).toEqual([0.2, hours * 60])
    await pool.query("update delivery set due_at = now() + interval '1 hour' where due_at < now() - interval '50 minutes'")
  }
  expect(await front()).toBe(0.2)
})

test('a claim takes no more of batches than it may, and single sends all the same', async () => {
  const { pool } = await databaseWithAccounts(3)
  await queue(pool, 6)
  await pool.query(
    'update delivery set bulk = true where notification_id in (select notification_id from (select notification_id, row_number() over (partition by account_id) as n from delivery) d where n > 2)',
  )
  const taken = async (limit: number, bulkLimit: number): Promise<number[]> => {
    const claims = await claim(pool, limit, bulkLimit)
    return [claims.filter(({ bulk }) => !bulk).length, claims.filter(({ bulk }) => bulk).length]
  }
  expect(await taken(5, 2)).toEqual([5, 0])
  expect(await taken(5, 2)).toEqual([1, 2])
  expect(await taken(5, 0)).toEqual([0, 0])
  expect(await taken(20, 20)).toEqual([0, 10])
})

const recordSent = (pool: Pool, claims: readonly Claim[]) =>
  recordChanges(
    pool,
    Date.now,
    claims.map(({ notification, attempt, ordinal }) => ({
      kind: 'attempt',
      notification,
      fact: { channel: 'email', type: 'sent', at: new Date(), source: 'smtp', data: {} },
      fence: { owner: OWNER, attempt, ordinal },
    })),
  )

async function rowsRead(pool: Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ read: number }>(
    "select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname ~ '^(notification|delivery|event)_'",
  )
  return rows[0]!.read
}

test.each([
  ['made while it was empty', 12],
  ['made for it', 0],
])('claiming and recording read what they take, however long the queue, by plans %s', async (_, earlier) => {
  const pool = await singleConnection()
  // PostgreSQL settles on a plan after five.
  await queue(pool, earlier)
  for (let round = 0; round < earlier; round++) await recordSent(pool, await claim(pool, 1))
  await queue(pool, 5_000)
  const before = await rowsRead(pool)
  const claims = await claim(pool, 20)
  expect(claims).toHaveLength(20)
  const claimed = await rowsRead(pool)
  expect(claimed - before).toBeLessThan(20 * 10)
  expect((await recordSent(pool, claims)).outcomes).toEqual(claims.map(() => 'recorded'))
  expect((await rowsRead(pool)) - claimed).toBeLessThan(20 * 10)
})

test('beside a long snapshot, a claim that begins at the front reads nothing of what was taken before', async () => {
  const { pool, url } = await databaseWithAccounts(3)
  const snapshot = new pg.Client({ connectionString: url })
  await snapshot.connect()
  onTestFinished(() => snapshot.end())
  await snapshot.query('begin isolation level repeatable read')
  await snapshot.query('select from delivery')
  await queue(pool, 700, 1)
  const lane = { channel: 'email', mode: 'live', carrier: 'smtp' } as const
  await pool.query("update delivery set state = 'done'")
  // A queue that is being worked off: what is left became due later than what was taken.
  await queue(pool, 60)
  await pool.query("update delivery set due_at = now() - interval '20 minutes' where state = 'queued'")
  const entriesRead = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await indexEntriesRead(pool)
    await work()
    return (await indexEntriesRead(pool)) - before
  }
  expect(await entriesRead(() => look(pool, 20))).toBeGreaterThan(2_000)
  const front = await findFront(pool, lane, null)
  expect(Math.round((Date.now() - front.getTime()) / 60_000)).toBe(20)
  expect(await entriesRead(() => look(pool, 20, { from: front }))).toBeLessThan(300)
  expect(await entriesRead(() => findFront(pool, lane, front))).toBeLessThan(100)
})

async function indexEntriesRead(pool: Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ read: number }>(
    "select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname ~ '^delivery_'",
  )
  return rows[0]!.read
}

test.each([
  ['made while it was empty', 12],
  ['made for it', 0],
])('a claim of failovers reads what it takes, however long the queue, by plans %s', async (_, earlier) => {
  const pool = await singleConnection()
  const standIn = () =>
    claimFailovers(pool, { channel: 'email', mode: 'live', carrier: 'smtp', rank: 1, owner: OWNER, limit: 20, leaseMs: 60_000 })
  for (let round = 0; round < earlier; round++) await standIn()
  await queue(pool, 5_000)
  const failed = await pool.query<{ id: string }>(
    `update delivery set tried = '{0}', due_at = now() + interval '1 hour'
     where notification_id in (select notification_id from delivery limit 3) returning notification_id as id`,
  )
  const before = await rowsRead(pool)
  const claims = await standIn()
  expect(claims.map(({ notification }) => notification).sort()).toEqual(failed.rows.map(({ id }) => id).sort())
  expect((await rowsRead(pool)) - before).toBeLessThan(3 * 10)
})

/** A claim whose worker has not committed yet. */
async function claimUncommitted(url: string, limit: number): Promise<{ claims: Claim[]; rollback(): Promise<unknown> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  return { claims: await claim(client, limit), rollback: () => client.query('rollback') }
}

test('workers that claim in the same moment share the queue: what one is taking is passed over for the next', async () => {
  const { pool, url } = await databaseWithAccounts(1)
  await queue(pool, 30)
  const first = await claimUncommitted(url, 10)
  const second = await claimUncommitted(url, 10)
  const third = await claim(pool, 10)
  const all = [first.claims, second.claims, third].flat().map(({ notification }) => notification)
  expect(new Set(all).size).toBe(30)
})

test('a worker that found only what another one was taking asks again, and a bounded number of times', async () => {
  const { pool, url } = await databaseWithAccounts(1)
  await queue(pool, 1)
  const first = await claimUncommitted(url, 1)
  let asked = 0
  const counting = (after: () => Promise<unknown>): Queryable => ({
    async query<Row extends pg.QueryResultRow>(query: pg.QueryConfig | string, values?: unknown[]) {
      const result = await pool.query<Row>(query, values)
      asked++
      await after()
      return result
    },
  })
  expect(
    await claim(
      counting(async () => {}),
      1,
    ),
  ).toEqual([])
  expect(asked).toBe(3)
  expect(await claim(counting(first.rollback), 1)).toMatchObject([{ notification: first.claims[0]!.notification }])
  asked = 0
  expect(
    await claim(
      counting(async () => {}),
      1,
    ),
  ).toEqual([])
  expect(asked).toBe(1)
})

test('of more accounts than places none is left out, and of a hundred only a few deliveries each are looked at', async () => {
  const { pool } = await databaseWithAccounts(100)
  await queue(pool, 100)
  const before = await rowsRead(pool)
  const claims = await claim(pool, 100)
  expect(new Set(claims.map(({ account }) => account)).size).toBe(100)
  expect((await rowsRead(pool)) - before).toBeLessThan(100 * 20)
  const served = new Set<string>()
  await expect
    .poll(
      async () => {
        for (const { account } of await claim(pool, 20)) served.add(account)
        return served.size
      },
      { interval: 1, timeout: 120_000 },
    )
    .toBe(100)
})

test('a lease is renewed for what its worker still holds, and not once it has run out', async () => {
  const pool = await singleConnection()
  await queue(pool, 3)
  const claims = await claim(pool, 3)
  const [held, dropped, expired] = claims.map(({ notification }) => notification)
  const expire = (id: string) =>
    pool.query("update delivery set lease_until = now() - interval '1 second' where notification_id = $1", [id])
  await expire(expired!)
  const others = { notification: dropped!, owner: crypto.randomUUID() }
  expect([...(await renewLeases(pool, [claims[0]!, others, claims[2]!], 3_600_000))]).toEqual([claims[0]])
  const { rows } = await pool.query<{ id: string }>(
    "select notification_id as id from delivery where lease_until > now() + interval '30 minutes'",
  )
  expect(rows).toEqual([{ id: held }])
  await expire(dropped!)
  const left = (await findExpiredLeases(pool, 10)).map(({ notification }) => notification)
  expect(left.sort()).toEqual([dropped, expired].sort())
})

test('what is put back is as it was before the claim, failover or not: the plan goes on from there', async () => {
  const { pool } = await databaseWithAccounts(1)
  await queue(pool, 1)
  const question = { channel: 'email', mode: 'live', carrier: 'smtp', owner: OWNER, limit: 1, leaseMs: 60_000 } as const
  const counts = async () => (await pool.query('select state, attempt, failovers, tried from delivery')).rows[0]
  const back = ({ notification, channel, attempt }: Claim) =>
    putBackDelivery(pool, { notification, channel, attempt, owner: OWNER }, 0)
  const [first] = await claimDeliveries(pool, { ...question, rank: 0 })
  await back(first!)
  expect(await counts()).toEqual({ state: 'queued', attempt: 0, failovers: 0, tried: null })
  await claimDeliveries(pool, { ...question, rank: 0 })
  await pool.query("update delivery set state = 'queued', lease_owner = null, lease_until = null")
  const [failover] = await claimFailovers(pool, { ...question, rank: 1 })
  expect(await counts()).toEqual({ state: 'sending', attempt: 2, failovers: 1, tried: [0, 1] })
  await back(failover!)
  expect(await counts()).toEqual({ state: 'queued', attempt: 1, failovers: 0, tried: null })
})

test('what a lost claim took goes back as it was, due at once or later, its lease over or not; what other claims hold stays', async () => {
  const { pool } = await databaseWithAccounts(1)
  await queue(pool, 3)
  const lost = crypto.randomUUID()
  const question = { channel: 'email', mode: 'live', carrier: 'smtp', limit: 1, leaseMs: 60_000 } as const
  const stored = async () =>
    (
      await pool.query(
        'select state, attempt, failovers, tried, lease_owner as owner, greatest(due_at, now()) > now() as later from delivery order by notification_id',
      )
    ).rows
  await claimDeliveries(pool, { ...question, rank: 0, owner: OWNER })
  await pool.query(
    "update delivery set state = 'queued', lease_owner = null, due_at = now() + interval '1 hour' where state = 'sending'",
  )
  await claimDeliveries(pool, { ...question, rank: 0, owner: OWNER })
  const before = await stored()
  await claimDeliveries(pool, { ...question, rank: 0, owner: lost })
  await pool.query("update delivery set lease_until = now() - interval '1 second' where lease_owner = $1", [lost])
  await claimFailovers(pool, { ...question, rank: 1, owner: lost })
  expect((await stored()).map(({ state }) => state)).toEqual(Array(3).fill('sending'))
  await putBackClaims(pool, [lost])
  expect(await stored()).toEqual(before)
  // Their dates may have moved: the age of those that were put back counts on, and the third one was held by another claim.
  const { rows } = await pool.query('select delayed from delivery order by delayed')
  expect(rows.map(({ delayed }) => delayed)).toEqual([true, true, null])
})

test('single sends are claimed before the lines of batches: those of the account first, and of other accounts in their turn', async () => {
  const { pool } = await databaseWithAccounts(2)
  await queue(pool, 30)
  const { rows } = await pool.query('select id from account order by id')
  const [sender, other] = rows.map(({ id }) => id as string)
  // Of one account all are older and of a batch but three; the other account has two single sends.
  await pool.query("update delivery set bulk = true, due_at = now() - interval '1 hour' where account_id = $1", [sender])
  const pick = async (account: string, count: number) =>
    (
      await pool.query('select notification_id as id from delivery where account_id = $1 order by 1 limit $2', [account, count])
    ).rows.map(({ id }) => id as string)
  const singles = await pick(sender!, 3)
  const others = await pick(other!, 2)
  await pool.query('update delivery set bulk = false, due_at = now() where notification_id = any($1)', [singles])
  await pool.query("update delivery set state = 'done' where account_id = $1 and not notification_id = any($2)", [other, others])
  const claimed = (await claim(pool, 6)).map(({ notification }) => notification)
  expect(claimed).toHaveLength(6)
  expect(claimed).toEqual(expect.arrayContaining([...singles, ...others]))
  // What is left is the batch's, and it goes on.
  expect(await claim(pool, 10)).toHaveLength(10)
})
