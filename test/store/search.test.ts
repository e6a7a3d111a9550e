import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lowestId } from '../../src/domain/id.js'
import { ensureMonths } from '../../src/store/migrate.js'
import { monthsOfPage } from '../../src/store/months.js'
import { newestQuery } from '../../src/store/notification/newest-notifications.js'
import { candidatesQuery, type Search, searchNotifications } from '../../src/store/notification/search.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'

/** A large account among others, over three months: a page reads a range of an index, and no partition is read as a whole. */
let database: TestDatabase
const account = randomUUID()
/** Has one of ten. */
const small = randomUUID()
/** Has nothing. */
const empty = randomUUID()
const PER_MONTH = 3_000
const LIMIT = 50

beforeAll(async () => {
  database = await createDatabase()
  await ensureMonths(database.pool)
  await database.asOwner("select ensure_month(now() - n * interval '1 month') from generate_series(1, 2) n")
  const idOf = (month: number): string =>
    `(lpad(to_hex((extract(epoch from date_trunc('month', now()) + interval '${month} month' + n * interval '1 minute') * 1000)::bigint), 12, '0')
      || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
  for (const month of [-2, -1, 0]) {
    const owner = `case when n % 10 = 0 then '${small}' else '${account}' end::uuid`
    await database.tamper(
      `insert into notification (id, account_id, mode, accepted_at, custom_id)
       select ${idOf(month)}, ${owner}, 'live', now(), 'c-' || n % 100 from generate_series(1, ${PER_MONTH}) n`,
    )
    await database.tamper(
      `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, failure, failed_at)
       select ${idOf(month)}, 'email', ${owner}, 'live', 'done', now(), now(), 1, 'always', 'p' || n % 100 || '@example.com', '{}',
         case when n = 7 then 'bounced' end, case when n = 7 then now() end
       from generate_series(1, ${PER_MONTH}) n`,
    )
  }
  await database.asOwner('analyze notification')
  await database.asOwner('analyze delivery')
})

afterAll(() => database.drop())

const all: Search = {
  scope: { account, mode: 'live' },
  customId: null,
  recipients: null,
  channel: null,
  status: null,
  fromMs: null,
  toMs: null,
  before: null,
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const isNamed = ({ customId, recipients }: Search): boolean => customId !== null || recipients !== null

/** The scans of partitions that a statement really made; of a list, those of notifications, since it looks up their deliveries by the key. */
async function scansOf(search: Search): Promise<PlanNode[]> {
  const question = { ...search, accounts: [search.scope.account], mode: search.scope.mode }
  const { text, values } = isNamed(search)
    ? candidatesQuery(search, LIMIT)
    : newestQuery(question, LIMIT, monthsOfPage(lowestId(Date.now()))!)
  const client = await database.pool.connect()
  try {
    // As the connections of the program have it planned: for any values.
    await client.query(`prepare planned as ${text}`)
    const { rows } = await client.query(`explain (analyze, format json) execute planned(${values!.map(literalOf).join(', ')})`)
    await client.query('deallocate planned')
    const scans = nodesOf(rows[0]['QUERY PLAN'][0].Plan).filter(node => node['Relation Name'] && node['Actual Loops'] > 0)
    return isNamed(search) ? scans : scans.filter(node => node['Relation Name']!.startsWith('notification'))
  } finally {
    client.release()
  }
}

const literalOf = (value: unknown): string => pg.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : String(value))

const readRows = (scans: readonly PlanNode[]): number =>
  scans.reduce((sum, node) => sum + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)), 0)

describe('the cost of a page', () => {
  const now = new Date()
  const middle = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 2)
  const searches: [string, Partial<Search>, string][] = [
    ['the whole list', {}, 'account_id, mode, id'],
    ['a span', { toMs: middle }, 'account_id, mode, id'],
    ['a customID', { customId: 'c-10' }, 'account_id, mode, custom_id, id'],
    ['a recipient', { recipients: ['p10@example.com'] }, 'account_id, mode, lower(recipient), notification_id'],
    [
      'a recipient in two forms',
      { recipients: ['p10@example.com', 'p20@example.com'] },
      'account_id, mode, lower(recipient), notification_id',
    ],
  ]

  test.each(searches)(
    '%s of a small account is a range of an index, and reads the rows of the page alone',
    async (_, changes, columns) => {
      for (const [owner, most] of [
        [small, LIMIT * (changes.recipients?.length ?? 1)],
        [empty, 0],
      ] as const) {
        const scans = await scansOf({ ...all, scope: { account: owner, mode: 'live' }, ...changes })
        expect(scans.length).toBeGreaterThan(0)
        for (const scan of scans) {
          expect(scan['Node Type']).toMatch(/^Index (Only )?Scan/)
          expect(scan['Index Cond']).toMatch(/account_id = .*mode = /)
          const { rows } = await database.pool.query('select pg_get_indexdef($1::regclass) as definition', [scan['Index Name']])
          expect(rows[0].definition).toContain(`(${columns})`)
        }
        expect(readRows(scans)).toBeLessThanOrEqual(most)
      }
    },
  )

  // Where nearly all notifications are of one account, the primary key serves as well: the page costs the few rows of others between its own.
  test.each(searches)('%s of the largest account reads no partition as a whole', async (_, changes) => {
    const first = await scansOf({ ...all, ...changes })
    const { next } = await searchNotifications(database.pool, { ...all, ...changes })
    for (const scans of [first, await scansOf({ ...all, ...changes, before: next })]) {
      for (const scan of scans) expect(scan['Node Type']).toMatch(/^Index (Only )?Scan/)
      expect(readRows(scans)).toBeLessThanOrEqual(1.5 * LIMIT * (changes.recipients?.length ?? 1))
    }
  })

  test('the test mode of the largest account, which has nothing there, reads nothing', async () => {
    expect(readRows(await scansOf({ ...all, scope: { account, mode: 'test' } }))).toBe(0)
  })
})

test('something rare is found page by page, each of bounded cost, and none is lost', async () => {
  const found: string[] = []
  const size = { notifications: 10, batch: 500, batches: 2 }
  let pages = 0
  for (let before: string | null = null; ; pages++) {
    const page = await searchNotifications(database.pool, { ...all, status: { fact: 'failed' }, before }, size)
    found.push(...page.notifications.map(({ id }) => id))
    before = page.next
    if (before === null) break
  }
  expect(found).toHaveLength(3)
  expect([...found].sort().reverse()).toEqual(found)
  expect(pages).toBeGreaterThanOrEqual(7)
})
