import { afterAll, expect, test } from 'vitest'
import { deleteOldForwards } from '../../src/channels/email/forward/forward-store.js'
import { channels, referenceTerms } from '../../src/channels/registry.js'
import { pruneReferences } from '../../src/store/ageing.js'
import { deleteStaleReferences } from '../../src/store/carrier/references.js'
import type { Queryable } from '../../src/store/postgres.js'
import { pruneAttempts } from '../../src/store/webhook/attempts.js'
import { createDatabase } from '../support/database/database.js'
import { createAccount } from '../support/gateway/gateway.js'

/** What a periodic deletion reads depends on what it deletes, and not on what stays. */
const database = await createDatabase()
const { pool, asOwner } = database
afterAll(() => database.drop())
const STAY = 50_000
const STALE = 20
const { id: account } = await createAccount(pool)
const ENDPOINTS = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']
for (const id of ENDPOINTS)
  await pool.query(
    `insert into webhook_endpoint (id, account_id, mode, url, payload_version, secret) values ($1, $2, 'live', 'https://a.example', 'v2', '')`,
    [id, account],
  )

interface Table {
  name: string
  /** Adds rows of this age in days, a minute apart. */
  add(rows: number, days: number): string
  remove(db: Queryable): Promise<unknown>
}

const at = (days: number) => `now() - interval '${days} days' + n * interval '1 second'`

const tables: readonly Table[] = [
  {
    name: 'carrier_reference',
    // Every other one is of a letter, and stays for longer.
    add: (
      rows,
      days,
    ) => `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
      select 'c', gen_random_uuid()::text, gen_random_uuid(), case when n % 2 = 0 then 'letter' else 'email' end, 1, 1, 1, ${at(days)}
      from generate_series(1, ${rows}) as n`,
    remove: db => deleteStaleReferences(db, referenceTerms),
  },
  {
    name: 'webhook_attempt',
    add: (rows, days) => `insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms)
      select (array['${ENDPOINTS.join("', '")}']::uuid[])[n % 2 + 1], gen_random_uuid(), 1, 'u', 'v2', ${at(days)}, 1
      from generate_series(1, ${rows}) as n`,
    remove: async db => {
      while ((await pruneAttempts(db, 30, 5_000)) === 5_000);
    },
  },
  {
    name: 'email_forward',
    add: (rows, days) => `insert into email_forward (notification_id, reply_id, state, created_at)
      select gen_random_uuid(), n::text, 'done', ${at(days)} from generate_series(1, ${rows}) as n`,
    remove: deleteOldForwards,
  },
]

/** The rows that a piece of work reads of a table, and those that it deletes there. */
async function readBy(table: string, work: (db: Queryable) => Promise<unknown>): Promise<{ read: number; deleted: number }> {
  const client = await pool.connect()
  // Counts of the session's earlier transactions may still be among them.
  const count = async (): Promise<{ read: number; deleted: number }> =>
    (
      await client.query(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read, n_tup_del::int as deleted
         from pg_stat_xact_user_tables where relname = $1`,
        [table],
      )
    ).rows[0]
  try {
    await client.query('begin')
    const before = await count()
    await work(client)
    const after = await count()
    await client.query('commit')
    return { read: after.read - before.read, deleted: after.deleted - before.deleted }
  } finally {
    client.release()
  }
}

/** What stays is in the pages of what was there before it, as in a table that is as large as it will ever be. */
async function fill({ name, add, remove }: Table): Promise<void> {
  await asOwner(add(STAY / 5, 300))
  await remove(pool)
  await asOwner(`vacuum ${name}`)
  await asOwner(add(STAY, 20))
  await asOwner(`vacuum analyze ${name}`)
}

test.each(tables)('of $name, a deletion reads the rows that go, however many stay', async table => {
  await fill(table)
  const idle = await readBy(table.name, table.remove)
  expect(idle.deleted).toBe(0)
  expect(idle.read).toBeLessThanOrEqual(5)
  await asOwner(table.add(STALE, 400))
  const { read, deleted } = await readBy(table.name, table.remove)
  // The attempts of an endpoint go in the order of their ids, and these came last.
  expect(deleted).toBe(table.name === 'webhook_attempt' ? 0 : STALE)
  expect(read).toBeLessThanOrEqual(3 * STALE)
})

test('attempts whose time is over go first by their ids, those of a deleted endpoint whatever their age', async () => {
  await asOwner('truncate webhook_attempt')
  const { add, remove } = tables[1]!
  for (const [rows, days] of [
    [STALE, 40],
    [STAY, 20],
  ] as const)
    await asOwner(add(rows, days))
  await asOwner('analyze webhook_attempt')
  const first = await readBy('webhook_attempt', remove)
  expect(first.deleted).toBe(STALE)
  expect(first.read).toBeLessThanOrEqual(4 * STALE)
  await pool.query('update webhook_endpoint set deleted_at = now() where id = $1', [ENDPOINTS[1]])
  while ((await pruneAttempts(pool, 30, 5_000)) > 0);
  const { rows } = await pool.query('select endpoint_id as endpoint, count(*)::int as left from webhook_attempt group by 1')
  expect(rows).toEqual([{ endpoint: ENDPOINTS[0], left: STAY / 2 }])
})

test('an attempt of a node whose clock was ahead keeps none of the later ones', async () => {
  await asOwner('truncate webhook_attempt')
  for (const days of [-3_650, 40, 20]) await asOwner(tables[1]!.add(1, days))
  await pool.query('update webhook_endpoint set deleted_at = null')
  await tables[1]!.remove(pool)
  const { rows } = await pool.query('select (at > now()) as "isAhead" from webhook_attempt order by id')
  expect(rows).toEqual([{ isAhead: true }, { isAhead: false }])
})

test('the references of a span of time are read alone', async () => {
  const span = { from: new Date(Date.now() - 30 * 86_400_000), to: new Date(Date.now() - 25 * 86_400_000), channels }
  const { read } = await readBy('carrier_reference', db => pruneReferences(db, { account }, span, 2_000))
  expect(read).toBeLessThanOrEqual(5)
})

test('a channel whose references cannot be deleted keeps no other from being cleaned', async () => {
  await pool.query('delete from carrier_reference')
  await asOwner(tables[0]!.add(STALE, 400))
  await asOwner(`create function keep() returns trigger language plpgsql as $$ begin raise exception 'kept'; end $$;
    create trigger keep before delete on carrier_reference for each row when (old.channel = 'email') execute function keep()`)
  await expect(deleteStaleReferences(pool, referenceTerms)).rejects.toThrow('kept')
  const { rows } = await pool.query('select distinct channel from carrier_reference')
  expect(rows).toEqual([{ channel: 'email' }])
})
