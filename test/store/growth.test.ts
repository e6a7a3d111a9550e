import { randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import type { Change } from '../../src/domain/delivery/change.js'
import { lowestId } from '../../src/domain/id.js'
import { recordChanges } from '../../src/engine/record/record.js'
import { wakeTagged } from '../../src/store/carrier/early-reports.js'
import { listNotifications } from '../../src/store/console/notification-list.js'
import { passDelivery, putBackDelivery } from '../../src/store/delivery/claim-returns.js'
import {
  type ClaimQuestion,
  claimDeliveries,
  claimFailovers,
  findExpiredLeases,
  lastServed,
  renewLeases,
} from '../../src/store/delivery/claims.js'
import { uncountContacts } from '../../src/store/delivery/contacts.js'
import { findStatuses } from '../../src/store/delivery/deliveries.js'
import { lockDueSteps } from '../../src/store/delivery/due-steps.js'
import { readOpenMonths } from '../../src/store/delivery/open-months.js'
import { listQueue } from '../../src/store/delivery/queue.js'
import { findStranded, takeOrphaned, takeUnknown } from '../../src/store/delivery/unknown-outcomes.js'
import { findStatingEvents } from '../../src/store/evidence/sent-content.js'
import { type IdMonths, monthOfId, monthsOfIds, nameWithin, recentMonthsOfIds } from '../../src/store/months.js'
import { findVisitedDeliveries } from '../../src/store/recipient/visits.js'
import { readEvents, readVisitDates } from '../../src/store/webhook/attempts.js'
import { type Settlement, settleMessages } from '../../src/store/webhook/queue.js'
import { createDatabase } from '../support/database/database.js'
import { readPlans } from '../support/database/plans.js'
import { createAccount, startGateway } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

/**
 * What grows with the age of an installation must not grow with it: months that are over, and accounts that are not served now.
 * `npm run bench growth` measures it.
 */
const MONTHS = 18
const ACCOUNTS = 30
const DAY_MS = 86_400_000
const database = await createDatabase()
const { pool } = database
afterAll(() => database.drop())
const accounts: string[] = []
for (let n = 0; n < ACCOUNTS; n++) accounts.push((await createAccount(pool)).id)
await database.asOwner(`select ensure_month(now() - n * interval '1 month') from generate_series(0, ${MONTHS - 1}) n`)

const monthAgo = (months: number): Date => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1, 12))
}

async function store(account: string, state: string, at: Date): Promise<string> {
  const id = `${lowestId(at.getTime()).slice(0, 14)}7${randomUUID().slice(15)}`
  await pool.query(
    `insert into notification (id, account_id, mode, accepted_at, recipient_name, subject, content)
     values ($1, $2, 'live', $3, 'Maria', 'Aviso', 'Texto')`,
    [id, account, at],
  )
  await pool.query(
    `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request)
     values ($1, 'email', $2, 'live', $3, now() - interval '1 minute', now(), 1, 'always', 'a@example.com', '{}')`,
    [id, account, state],
  )
  return id
}

const settlement: Settlement = {
  ...{ message: randomUUID(), owner: randomUUID(), attempt: 1, state: 'done' as const, delayMs: null },
  ...{ url: 'https://example.com', version: 'v2' as const, at: new Date(), durationMs: 1, status: 200 },
  ...{ error: null, responseHeaders: null, responseBody: null },
}

const question = (more: Partial<ClaimQuestion> = {}): ClaimQuestion => ({
  ...{ channel: 'email', mode: 'live', carrier: 'smtp', rank: 0, owner: randomUUID(), limit: 5, leaseMs: 60_000 },
  ...more,
})

/** The months of which a plan has partitions. */
const monthsIn = (plan: string): string[] =>
  [
    ...new Set(
      [...plan.matchAll(/(?:delivery|notification|attachment|event|sent_content)_(\d{4}_\d\d)/g)].map(([, month]) => month!),
    ),
  ].sort()
/** The least id of a month, or of one after it. */
const startOf = (month: string, later: number): string =>
  lowestId(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + later))
const nameOf = (at: Date): string => `${at.getUTCFullYear()}_${String(at.getUTCMonth() + 1).padStart(2, '0')}`

/** What a worker looks for all the time. */
const looks: Readonly<Record<string, (months: IdMonths | null) => Promise<unknown>>> = {
  'due deliveries': months => claimDeliveries(pool, question({ months })),
  'deliveries that other carriers failed to take': months => claimFailovers(pool, question({ months })),
  'expired leases': months => findExpiredLeases(pool, 5, months),
  'unknown outcomes': months => takeUnknown(pool, { ...question({ months }), holdMs: 1_000 }),
  'unknown outcomes of carriers that are gone': months => takeOrphaned(pool, [], { limit: 5, months, holdMs: 1_000 }),
  'deliveries bound to carriers that are gone': months => findStranded(pool, [], 0, { limit: 5, months }),
  'steps whose wait is over': months => lockDueSteps(pool, { limit: 1, months }),
}

test('workers look at the months from the oldest with an unfinished delivery to the current one, and at no others', async () => {
  for (let months = 0; months < MONTHS; months++) await store(accounts[0]!, 'done', monthAgo(months))
  // A day more on both sides: at the turn of a month they are two.
  const [yesterday, tomorrow] = [Date.now() - DAY_MS, Date.now() + DAY_MS].map(at => nameOf(new Date(at)))
  const nothingOpen = await readOpenMonths(pool)
  expect([nothingOpen.low, nothingOpen.high]).toEqual([startOf(yesterday!, 0), startOf(tomorrow!, 1)])
  for (let n = 0; n < 3; n++) await store(accounts[0]!, 'waiting', monthAgo(2))
  const months = await readOpenMonths(pool)
  expect([months.low, months.high]).toEqual([startOf(nameOf(monthAgo(2)), 0), startOf(tomorrow!, 1)])
  for (const [what, look] of Object.entries(looks)) {
    const all = await readPlans(pool, async () => void (await look(null)))
    const open = await readPlans(pool, async () => void (await look(months)))
    for (const { plan } of all) expect(monthsIn(plan).length, what).toBeGreaterThanOrEqual(MONTHS)
    for (const { plan } of open) expect([monthsIn(plan)[0], monthsIn(plan).at(-1)], what).toEqual([nameOf(monthAgo(2)), tomorrow])
  }
})

test('the oldest month with an unfinished delivery is found by indexes: no month is read whole', async () => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('select open_since()')
    const { rows } = await client.query(
      "select relname from pg_stat_xact_user_tables where relname like 'delivery\\_2%' and seq_scan > 0 order by 1",
    )
    expect(rows).toEqual([])
    await client.query('rollback')
  } finally {
    client.release()
  }
})

test('the list of waiting steps reads these alone, not the finished deliveries beside them', async () => {
  const steps = { state: 'waiting', channel: null, mode: null, account: null, limit: 50 } as const
  const plans = await readPlans(pool, async () => void (await listQueue(pool, steps)), ['enable_seqscan = off'], true)
  expect(plans[0]!.plan).not.toContain('Rows Removed by Filter')
  expect((await listQueue(pool, steps)).map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting'])
})

test('a claim reads no restoration that is over', async () => {
  await database.tamper(
    "insert into restoration (cause, detail, held_at) select 'behind', repeat('x', 100), now() from generate_series(1, 500)",
  )
  await database.asOwner('analyze restoration')
  for (const claim of [claimDeliveries, claimFailovers]) {
    const { plan } = (await readPlans(pool, async () => void (await claim(pool, question())), [], true))[0]!
    expect(plan).toMatch(/using restoration_open on restoration .*actual rows=0(\.00)? loops=1/)
  }
  await database.tamper('delete from restoration')
})

test('what a person puts back into the queue is found again, however old it is', async () => {
  const id = await store(accounts[0]!, 'dead', monthAgo(17))
  await pool.query("update delivery set state = 'queued' where notification_id = $1", [id])
  const [claimed] = await claimDeliveries(pool, question({ months: await readOpenMonths(pool) }))
  expect(claimed!.notification).toBe(id)
  await pool.query("update delivery set state = 'done', lease_owner = null, lease_until = null where notification_id = $1", [id])
})

test('a claim walks over as many accounts as it can serve, and the next one goes on where it ended', async () => {
  for (const account of accounts) for (let n = 0; n < 3; n++) await store(account, 'queued', monthAgo(0))
  const [, ...others] = accounts.toSorted()
  const inTheMiddle = question({ after: others[ACCOUNTS / 2]! })
  const plan = (await readPlans(pool, async () => void (await claimDeliveries(pool, inTheMiddle)), [], true))[0]!.plan
  const walked = [...plan.matchAll(/Recursive Union .*actual rows=(\d+)/g)].map(([, rows]) => Number(rows))
  expect(
    walked,
    `${plan}: the successors of the one that was served last fill all places, so those before it are left alone`,
  ).toEqual([5, 0])
  // Five look-ups, and no walk over all accounts.
  expect(plan).toMatch(/ on account .*actual rows=1(\.00)? loops=5/)
  const served: string[] = []
  let after = lastServed([])
  for (let claim = 0; claim < ACCOUNTS / 5; claim++) {
    const claims = await claimDeliveries(pool, question({ after }))
    served.push(...claims.map(({ account }) => account))
    after = lastServed(claims, after)
  }
  // The first claim, above, took a delivery of five accounts; each account gets its turn before any gets its second.
  expect([...new Set(served)].sort()).toEqual([...accounts].sort())
  expect(served).toHaveLength(ACCOUNTS)
})

test('only columns of indexes are analyzed: all others cost a processor and choose no plan', async () => {
  const month = nameOf(monthAgo(0))
  for (const [table, indexed] of [
    [`event_${month}`, ['notification_id', 'seq', 'transaction_id']],
    [`sent_content_${month}`, ['notification_id', 'seq']],
    [`notification_${month}`, ['account_id', 'custom_id', 'id', 'mode']],
    ['log_leaf', ['leaf', 'notification_id', 'seq']],
    ['bulk_line', ['batch_id', 'line', 'state']],
    [
      `delivery_${month}`,
      (
        'account_id attempt bound_carrier bulk carrier channel condition delayed delivered_at due_at failed_at failure ' +
        'lease_until mode notification_id recipient state tracking_code tried'
      ).split(' '),
    ],
  ] as const) {
    const { rows } = await pool.query<{ name: string }>(
      'select attname as name from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and attstattarget is distinct from 0',
      [table],
    )
    expect(rows.map(({ name }) => name).sort(), table).toEqual(indexed)
  }
})

test('a send reads its own account, and no other', async () => {
  const gateway = await startGateway(pool)
  try {
    const { token } = await createAccount(pool)
    const plans = await readPlans(pool, async () => {
      expect((await send(gateway.url, token, validSend)).status).toBe(200)
    })
    const { plan } = plans.find(({ sql }) => sql.includes('insert into notification'))!
    const reads = plan.split('\n').flatMap((line, at, lines) => (/ on account\b/.test(line) ? [lines[at + 1]!.trim()] : []))
    expect(reads.length, plan).toBeGreaterThan(0)
    for (const condition of reads) expect(condition, plan).toBe('Index Cond: (id = q.account)')
  } finally {
    await gateway.close()
  }
})

test('the turn of accounts goes round', () => {
  const claims = (...of: string[]) => of.map(account => ({ account }))
  expect(lastServed(claims('c', 'b'), 'a')).toBe('c')
  expect(lastServed(claims('d', 'a', 'b'), 'c')).toBe('b')
  expect(lastServed([], 'c')).toBe('c')
})

test('a lookup opens the month of its notification alone; lookups of many months are one statement', async () => {
  const ids = await Promise.all([0, 3, 3, 9, 12, 15].map(months => store(accounts[0]!, 'done', monthAgo(months))))
  const scope = { account: accounts[0]!, mode: 'live' as const }
  const ask = async (of: readonly string[]) => {
    let found: unknown[] = []
    const plans = await readPlans(pool, async () => {
      found = await findStatuses(
        pool,
        of.map(notification => ({ scope, notification, channel: 'email' })),
      )
    })
    expect(found).toMatchObject(of.map(notification => ({ notification })))
    return plans.map(({ plan }) => monthsIn(plan))
  }
  expect(await ask(ids.slice(1, 3))).toEqual([[nameOf(monthAgo(3))]])
  expect((await ask(ids.slice(0, 4))).flat().sort()).toEqual([0, 3, 9].map(months => nameOf(monthAgo(months))).sort())
  expect(await ask(ids)).toHaveLength(1)
  expect(await findStatuses(pool, [{ scope, notification: randomUUID(), channel: 'email' }])).toEqual([null])
})

test('a lookup goes by the key, also in a month without statistics: a new one, or one that was restored', async () => {
  const [account] = accounts as [string]
  const month = monthAgo(6)
  const ids = await Promise.all(Array.from({ length: 20 }, () => store(account, 'done', month)))
  const { rows } = await pool.query('select from pg_stats where tablename = $1', [`delivery_${nameOf(month)}`])
  expect(rows).toEqual([])
  const question = { scope: { account, mode: 'live' as const }, notification: ids[0]!, channel: 'email' as const }
  const [found] = await readPlans(pool, async () => void (await findStatuses(pool, [question, question])))
  const conditions = found!.plan.split('\n').filter(line => line.includes('Index Cond'))
  expect(conditions.length, found!.plan).toBe(1)
  for (const condition of conditions) expect(condition, found!.plan).toContain('= q.notification_id')
})

test('webhooks that are settled are looked up by their key, also in a table without statistics', async () => {
  const [found] = await readPlans(pool, async () => void (await settleMessages(pool, [settlement])))
  const lines = found!.plan.split('\n')
  const scans = lines.flatMap((line, at) =>
    /Scan .*\bon webhook_message\b/.test(line) ? [lines.slice(at + 1, at + 3).join(' ')] : [],
  )
  expect(scans.length, found!.plan).toBeGreaterThan(0)
  for (const condition of scans) expect(condition, found!.plan).toMatch(/id = ANY|notification_id = s\.notification_id/)
})

test('ids that nobody gave have no month of their own: plans for made-up ones would fill the server', () => {
  expect(['ffffffff-ffff-7fff-bfff-ffffffffffff', '00000000-0000-7000-8000-000000000000'].map(monthOfId)).toEqual([null, null])
  expect(monthOfId(lowestId(Date.UTC(2026, 1, 28)))).toEqual({
    name: '2026_02',
    low: lowestId(Date.UTC(2026, 1)),
    high: lowestId(Date.UTC(2026, 2)),
  })
})

test('the rows of a page are read from few months, of which there are few numbers: a plan is kept for each', () => {
  const spanOf = (months: number): number | null => {
    const found = monthsOfIds([lowestId(monthAgo(0).getTime()), lowestId(monthAgo(months).getTime())])
    const first = found === null ? null : new Date(Number.parseInt(found.low.replace('-', '').slice(0, 12), 16))
    return first && Math.round((monthAgo(0).getTime() - first.getTime()) / (30.4 * 86_400_000)) + 1
  }
  expect([0, 1, 2, 3, 4, 5, 6].map(spanOf)).toEqual([1, 2, 4, 4, 6, 6, null])
  const [soon, far] = [lowestId(Date.now() + 5 * 86_400_000), 'ffffffff-ffff-7fff-bfff-ffffffffffff']
  expect(monthsOfIds([soon, soon])).not.toBeNull()
  expect(monthsOfIds([far, far])).toBeNull()
})

test('a page of the console opens the months in which it usually lies, and all of them if it is longer', async () => {
  const page = { mode: 'live', text: null, channel: null, status: null, notReached: false, fromMs: null, toMs: null } as const
  const [busy, quiet] = [(await createAccount(pool)).id, (await createAccount(pool)).id]
  for (let n = 0; n < 50; n++) await store(busy, 'done', monthAgo(n % 2))
  const old: string[] = []
  for (let months = 0; months < MONTHS; months++) old.push(await store(quiet, 'done', monthAgo(months)))
  const list = async (account: string) => {
    let found: string[] = []
    const plans = await readPlans(pool, async () => {
      const { notifications } = await listNotifications(pool, { ...page, accounts: [account], before: null })
      found = notifications.map(({ id }) => id)
    })
    return { found, months: monthsIn(plans.map(({ plan }) => plan).join('\n')) }
  }
  const recent = await list(busy)
  expect(recent.found).toHaveLength(50)
  expect(recent.months[0]! >= nameOf(monthAgo(5))).toBe(true)
  const all = await list(quiet)
  expect(all.found).toEqual(old)
  expect(all.months.length).toBeGreaterThanOrEqual(MONTHS)
})

test('a page opens one month where the last one lay in one, and more again where that is not enough', async () => {
  const page = { mode: 'live', text: null, channel: null, status: null, notReached: false, fromMs: null, toMs: null } as const
  const size = { notifications: 3, batch: 3, batches: 1 }
  const [busy, quiet] = [(await createAccount(pool)).id, (await createAccount(pool)).id]
  const before = lowestId(monthAgo(1).getTime() + 1_000)
  for (let n = 0; n < 3; n++) {
    await store(busy, 'done', new Date(monthAgo(1).getTime() - n))
    await store(quiet, 'done', monthAgo(n + 1))
  }
  const monthsOf = async (account: string) => {
    const plans = await readPlans(pool, async () => {
      const { notifications } = await listNotifications(pool, { ...page, accounts: [account], before }, size)
      expect(notifications).toHaveLength(3)
    })
    return plans.map(({ plan }) => monthsIn(plan).length)
  }
  await monthsOf(busy)
  expect(await monthsOf(busy)).toEqual([1])
  expect(await monthsOf(quiet)).toEqual([1, 4])
  expect(await monthsOf(quiet)).toEqual([4])
  expect(await monthsOf(busy)).toEqual([4])
  expect(await monthsOf(busy)).toEqual([1])
})

test('a page of many accounts is looked for among the newest notifications of all, and in each account where these are of others', async () => {
  const page = { mode: 'live', text: null, channel: null, status: null, notReached: false, fromMs: null, toMs: null } as const
  const size = { notifications: 5, batch: 5, batches: 1 }
  const many = accounts.slice(0, 25)
  const list = async (before: string | null) => {
    let found: string[] = []
    const plans = await readPlans(pool, async () => {
      const { notifications } = await listNotifications(pool, { ...page, accounts: many, before }, size)
      found = notifications.map(({ id }) => id)
    })
    const { rows } = await pool.query<{ id: string }>(
      `select id from notification where account_id = any($1) and mode = 'live' and ($2::uuid is null or id < $2) order by id desc limit 5`,
      [many, before],
    )
    expect(found).toEqual(rows.map(({ id }) => id))
    expect(found).toHaveLength(5)
    return plans.map(({ plan }) => /account_id = a\.id/.test(plan))
  }
  // At the end of last month, where nothing else is: five of theirs, then fifty of another account.
  const end = monthAgo(0).getTime() - 2 * DAY_MS
  for (let n = 0; n < 5; n++) await store(many[n]!, 'done', new Date(end + n))
  for (let n = 0; n < 50; n++) await store(accounts[29]!, 'done', new Date(end - 1_000 - n))
  expect(await list(lowestId(end + 1_000))).toEqual([false])
  expect(await list(lowestId(end))).toContain(true)
})

test('a page of all accounts reads them only where the newest notifications do not fill it, and may be filtered', async () => {
  const page = { text: null, channel: null, status: null, notReached: false, fromMs: null, toMs: null, accounts: null } as const
  const size = { notifications: 5, batch: 5, batches: 1 }
  const end = monthAgo(0).getTime() - 4 * DAY_MS
  const newest: string[] = []
  for (let n = 0; n < 7; n++) newest.push(await store(accounts[n]!, 'done', new Date(end - n)))
  const before = lowestId(end + 1)
  const list = async (question: object) => {
    let answer: Awaited<ReturnType<typeof listNotifications>>
    const plans = await readPlans(pool, async () => {
      answer = await listNotifications(pool, { ...page, mode: 'live', before, ...question }, size)
    })
    const { notifications, next } = answer!
    return { ids: notifications.map(({ id }) => id), next, readsAccounts: plans.some(({ plan }) => / on account\b/.test(plan)) }
  }
  const first = newest.slice(0, 5)
  expect(await list({})).toEqual({ ids: first, next: first[4], readsAccounts: false })
  expect((await list({ before: first[4] })).ids.slice(0, 2)).toEqual(newest.slice(5))
  expect(await list({ fromMs: end - 1 })).toEqual({ ids: newest.slice(0, 2), next: null, readsAccounts: true })
  expect(await list({ mode: 'test' })).toEqual({ ids: [], next: null, readsAccounts: true })
  expect((await list({ text: { subject: 'aviso' } })).ids).toEqual(first)
  expect((await list({ channel: 'email' })).ids).toEqual(first)
  expect(await list({ text: { id: newest[6]! } })).toMatchObject({ ids: [newest[6]], readsAccounts: true })
})

/** Stores a notification with its first event and its content as it left. */
async function storeWhole(at: Date): Promise<string> {
  const id = await store(accounts[0]!, 'done', at)
  await pool.query(
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     values ($1, 1, $2, 'accepted', 'api', '{}', '\\x00', sha256('a'), sha256('b'), sha256('c'))`,
    [id, at],
  )
  await pool.query(
    `insert into sent_content (notification_id, seq, channel, type, extension, size, sha256, packing, bytes)
     values ($1, 1, 'email', 'text/plain', 'txt', 1, sha256('a'), 'none', 'a')`,
    [id],
  )
  return id
}

async function storeErased(at: Date): Promise<string> {
  const id = await storeWhole(at)
  await database.tamper('update notification set erased_at = now() where id = $1', [id])
  return id
}

const factsOf = (notification: string): Change[] => {
  const fact = { channel: 'email', at: new Date(), source: 'recipient' } as const
  return [
    { kind: 'fact', notification, fact: { ...fact, type: 'answered', data: { answer: 'Sim', answerId: randomUUID() } } },
    { kind: 'fact', notification, fact: { ...fact, type: 'note', data: {} }, noteLimit: { most: 5, once: true } },
  ]
}

const OWNER = randomUUID()
const hold = (ids: readonly string[], state: 'sending' | 'done') =>
  database.asOwner(
    `update delivery set state = $2, attempt = 1, tried = '{0}', lease_owner = $3, lease_until = now() + interval '1 hour'
     where notification_id = any($1::uuid[])`,
    [ids, state, OWNER],
  )
const heldBy = (notification: string) => ({ notification, channel: 'email', attempt: 1, owner: OWNER }) as const

/** What is done with notifications that are known: for how many of these it was done, and how many statements of it read months. */
const works: Readonly<Record<string, { statements: number; work: (ids: readonly string[]) => Promise<number> }>> = {
  'facts are recorded, some of notifications that are erased or do not exist': {
    // Lock, search for the missing, read, search for the missing, read the notes, write, note the terms of visits.
    statements: 7,
    work: async ids => {
      const at = new Date(Number.parseInt(ids[0]!.replace('-', '').slice(0, 12), 16))
      const others = [await storeErased(at), `${ids[0]!.slice(0, 24)}${randomUUID().slice(24)}`]
      const { outcomes } = await recordChanges(pool, Date.now, [...ids, ...others].flatMap(factsOf))
      return outcomes.filter((outcome, place) => place % 2 === 0 && outcome === 'recorded').length
    },
  },
  'recipients visit': {
    statements: 1,
    work: async ids => {
      const found = await findVisitedDeliveries(
        pool,
        ids.map(notification => ({ notification, channel: 'email' })),
      )
      return found.filter(visited => visited !== null).length
    },
  },
  'leases are prolonged': {
    statements: 1,
    work: async ids => {
      await hold(ids, 'sending')
      const kept = await renewLeases(pool, ids.map(heldBy), 60_000)
      await hold(ids, 'done')
      return kept.size
    },
  },
  'webhooks are written': { statements: 1, work: async ids => (await readEvents(pool, ids)).size },
  'webhooks about erased visits are written': { statements: 1, work: async ids => (await readVisitDates(pool, ids)).length },
  'stated contents are looked for': { statements: 1, work: async ids => (await findStatingEvents(pool, ids)).length },
  'contacts are taken back, early reports woken': {
    statements: 2,
    work: async ids => {
      await uncountContacts(pool, ids.map(heldBy))
      await wakeTagged(pool, ids)
      return ids.length
    },
  },
}

test('work on notifications that are known opens their months alone, wherever they are recent', async () => {
  for (const months of [[0], [3, 3, 3], [1, 0, 1]]) {
    const ids = await Promise.all(months.map(month => storeWhole(monthAgo(month))))
    const expected = months.map(month => nameOf(monthAgo(month)))
    for (const [what, { statements, work }] of Object.entries(works)) {
      let done = 0
      const plans = (
        await readPlans(pool, async () => {
          done = await work(ids)
        })
      ).filter(({ plan }) => monthsIn(plan).length > 0)
      expect(done, what).toBe(ids.length)
      expect(plans, what).toHaveLength(statements)
      for (const { plan } of plans) {
        expect(expected, what).toEqual(expect.arrayContaining(monthsIn(plan)))
        // Months that only the values rule out are opened and locked all the same.
        expect(plan, what).not.toContain('Subplans Removed')
        // Of months without statistics the server expects one row: it must not compare those of a group with each other.
        expect(plan, what).not.toMatch(/Join Filter: .*notification_id/)
      }
    }
  }
})

test('work on notifications that are far apart, very old or of the future is done all the same', async () => {
  await database.asOwner("select ensure_month(now() + n * interval '1 month') from unnest(array[-100, -80, 4, 5]) n")
  for (const months of [[0, 15], [13], [17, 12, 16], [100, 0, 80], [-4], [-5, 0, 100, 3]]) {
    const ids = await Promise.all(months.map(month => storeWhole(monthAgo(month))))
    for (const [what, { work }] of Object.entries(works)) expect(await work(ids), `${what}: ${months}`).toBe(ids.length)
  }
})

test('a claim is passed on and put back in the month of its notification alone, however old it is', async () => {
  for (const month of [0, 5, 17]) {
    const id = await storeWhole(monthAgo(month))
    const to = { carrier: 'other', owner: OWNER, leaseMs: 60_000 }
    await hold([id], 'sending')
    const plans = await readPlans(pool, async () => {
      expect(await passDelivery(pool, heldBy(id), to)).toBe(true)
      await putBackDelivery(pool, heldBy(id), 0)
    })
    expect(plans).toHaveLength(2)
    for (const { plan } of month < 12 ? plans : []) {
      expect(monthsIn(plan), plan).toEqual([nameOf(monthAgo(month))])
      expect(plan).not.toContain('Subplans Removed')
    }
    const { rows } = await pool.query('select state, carrier from delivery where notification_id = $1', [id])
    expect(rows).toEqual([{ state: 'queued', carrier: 'other' }])
    await hold([id], 'done')
  }
})

test('work on notifications has plans of its own for the last year alone, in any order of their ids', () => {
  const idOf = (months: number) => lowestId(monthAgo(months).getTime())
  const names = Array.from({ length: 100 }, (_, months) => nameWithin(recentMonthsOfIds([idOf(months - 10)]), 'work'))
  // The last twelve, the current one, the next one; and the general one.
  expect(new Set(names).size).toBe(15)
  expect(recentMonthsOfIds([idOf(12)])).toEqual(monthOfId(idOf(12)))
  expect(recentMonthsOfIds([idOf(13)])).toBeNull()
  expect(recentMonthsOfIds([idOf(2), idOf(0), idOf(1)])).toEqual(monthsOfIds([idOf(0), idOf(2)]))
  expect([recentMonthsOfIds([]), recentMonthsOfIds(['no id'])]).toEqual([null, null])
})

test('the statements of a page of the console are planned once for each connection', async () => {
  const client = await pool.connect()
  try {
    const page = { mode: 'live', text: null, channel: null, status: null, notReached: false, fromMs: null, toMs: null } as const
    const planned = async () =>
      (
        await client.query<{ plans: number }>(
          'select sum(generic_plans + custom_plans)::int as plans from pg_prepared_statements',
        )
      ).rows[0]!.plans
    const lists = async (of: readonly string[], before: string | null) => {
      // Of more notifications than a page has, and of fewer.
      await listNotifications(client, { ...page, accounts: of, before })
      await listNotifications(client, { ...page, accounts: [...of.slice(0, 1)], before })
    }
    await lists(accounts, null)
    const names = async () => (await client.query('select name from pg_prepared_statements order by 1')).rows
    const before = await names()
    expect(await planned()).toBeGreaterThanOrEqual(2)
    await lists(accounts.toReversed(), lowestId(Date.now() + 60_000))
    expect(await names()).toEqual(before)
    expect(before.length).toBeGreaterThanOrEqual(2)
  } finally {
    client.release(true)
  }
})
