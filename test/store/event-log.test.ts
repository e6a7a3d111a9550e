import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { type EventPosition, readEventsAfter } from '../../src/store/notification/event-log.js'
import { type Queryable, transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { deferred } from '../support/deferred.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

beforeEach(() => database.tamper('truncate event'))

afterAll(() => database.drop())

const MONTH_MS = 31 * 86_400_000
/** Lie in different partitions. */
const recently = (): string => newId(Date.now())
const lastMonth = (): string => newId(Date.now() - new Date().getUTCDate() * 86_400_000)
const nextMonth = (): string => newId(Date.now() + MONTH_MS)

async function insertEvents(db: Queryable, events: readonly [id: string, seq: number][]): Promise<void> {
  await db.query(
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     select id, seq, now(), 'note', 'test', '{}', '', sha256(''), sha256(''), sha256('')
     from unnest($1::uuid[], $2::int[]) as t(id, seq)`,
    [events.map(([id]) => id), events.map(([, seq]) => seq)],
  )
}

/** A reader that goes on from where it stopped. */
function openReader(limit: number) {
  let position: EventPosition | null = null
  const seen: [string, number][] = []
  return {
    seen,
    async read(): Promise<[string, number][]> {
      for (;;) {
        const page = await readEventsAfter(database.pool, position, limit)
        expect(page.length).toBeLessThanOrEqual(limit)
        seen.push(...page.map(({ notification, seq }): [string, number] => [notification, seq]))
        position = page.at(-1) ?? position
        if (page.length < limit) return seen
      }
    },
  }
}

test('an event of a transaction that is still open is not skipped when later transactions commit first', async () => {
  const [before, late, later] = [recently(), recently(), recently()]
  await insertEvents(database.pool, [[before, 1]])
  const reader = openReader(10)
  // An open transaction of another test file holds readers of this server back as well: wait until it has ended.
  await expect.poll(() => reader.read()).toEqual([[before, 1]])

  const written = deferred<void>()
  const mayCommit = deferred<void>()
  const open = transaction(database.pool, async db => {
    await insertEvents(db, [[late, 1]])
    written.resolve()
    await mayCommit.promise
  })
  await written.promise
  await insertEvents(database.pool, [[later, 1]])
  expect(await reader.read()).toEqual([[before, 1]])

  mayCommit.resolve()
  await open
  await expect
    .poll(() => reader.read())
    .toEqual([
      [before, 1],
      [late, 1],
      [later, 1],
    ])
})

test('a transaction that is rolled back holds a reader back only while it is open', async () => {
  const kept = recently()
  const client = await database.pool.connect()
  try {
    await client.query('begin')
    await insertEvents(client, [[recently(), 1]])
    await insertEvents(database.pool, [[kept, 1]])
    expect(await openReader(10).read()).toEqual([])
    await client.query('rollback')
  } finally {
    client.release()
  }
  const reader = openReader(10)
  await expect.poll(() => reader.read()).toEqual([[kept, 1]])
})

test.each([1, 2, 3, 100])(
  'pages of %i return each event once, by transaction, notification and number, from all months',
  async limit => {
    const [first, second, third] = [lastMonth(), recently(), nextMonth()]
    await insertEvents(database.pool, [
      [third, 1],
      [second, 2],
      [first, 1],
      [second, 1],
    ])
    await insertEvents(database.pool, [[first, 2]])
    await insertEvents(database.pool, [
      [third, 2],
      [first, 3],
    ])
    const reader = openReader(limit)
    await expect
      .poll(() => reader.read())
      .toEqual([
        [first, 1],
        [second, 1],
        [second, 2],
        [third, 1],
        [first, 2],
        [first, 3],
        [third, 2],
      ])
  },
)

test('a reader that reads while several connections write gets every event once, each chain in its order', async () => {
  const WRITERS = 4
  const TRANSACTIONS = 15
  const write = async (): Promise<[string, number][]> => {
    const id = recently()
    const events = Array.from({ length: TRANSACTIONS * 2 }, (_, index): [string, number] => [id, index + 1])
    for (let done = 0; done < events.length; done += 2) {
      await transaction(database.pool, async db => {
        await insertEvents(db, [events[done]!])
        await insertEvents(db, [events[done + 1]!])
      })
    }
    return events
  }
  const reader = openReader(3)
  let writing = true
  const written = Promise.all(Array.from({ length: WRITERS }, write)).finally(() => {
    writing = false
  })
  while (writing) await reader.read()
  const events = await written
  await expect.poll(async () => (await reader.read()).length).toBe(WRITERS * TRANSACTIONS * 2)
  for (const chain of events) expect(reader.seen.filter(([id]) => id === chain[0]![0])).toEqual(chain)
})
