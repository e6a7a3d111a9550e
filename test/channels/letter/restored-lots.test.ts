import { expect, test } from 'vitest'
import { createLotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import { holdCopy } from '../../../src/engine/unknown/restored.js'
import { databaseForTest } from '../../support/database/database.js'

/** Numbers of lots after the database was found to be an older copy. */

const hold = (database: Awaited<ReturnType<typeof databaseForTest>>) =>
  holdCopy(database.pool, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
const reference = (n: number): string => `019a8f2e-0000-7000-8000-00000000000${n}.letter.1`

test('no lot after a restoration has a number that may have been used since the copy', async () => {
  const database = await databaseForTest()
  const journal = createLotJournal(database.pool, 'e-carta')
  const { lot: before } = await journal.open([reference(1)])
  const seconds = Math.floor((Date.now() - Date.parse('2026-01-01T00:00:00Z')) / 1_000)
  await hold(database)
  const { lot: after } = await journal.open([reference(2)])
  expect(after).toBeGreaterThan(before + 100_000)
  // The same copy may be restored again later: the time tells the two apart.
  expect(after).toBeGreaterThanOrEqual(seconds)
  expect(after).toBeLessThan(999_999_999)
})

test('numbers that are already higher than the time go on from where they are', async () => {
  const database = await databaseForTest()
  const journal = createLotJournal(database.pool, 'e-carta')
  await journal.startAt(900_000_000)
  const { lot: before } = await journal.open([reference(1)])
  expect(before).toBe(900_000_000)
  await hold(database)
  expect((await journal.open([reference(2)])).lot).toBe(900_100_001)
})
