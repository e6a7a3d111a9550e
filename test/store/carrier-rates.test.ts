import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { returnRate, takeRate } from '../../src/store/carrier/rates.js'
import { transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

const rateOf = (perSecond: number) => ({ carrier: randomUUID(), perSecond })

/** Sets the clock forward, as seen by a carrier: within a transaction the database's own stands still. */
const pass = (carrier: string, ms: number) =>
  database.pool.query("update carrier_rate set spent_until = spent_until - $2 * interval '1 millisecond' where carrier = $1", [
    carrier,
    ms,
  ])

test('a carrier gets its rate and a tenth of a second’s worth at once, however long it was idle', async () => {
  const hundred = rateOf(100)
  expect((await takeRate(database.pool, hundred, 500)).granted).toBe(10)
  await pass(hundred.carrier, 3_600_000)
  await transaction(database.pool, async db => {
    expect((await takeRate(db, hundred, 4)).granted).toBe(4)
    expect((await takeRate(db, hundred, 500)).granted).toBe(6)
    const { granted, waitMs } = await takeRate(db, hundred, 500)
    expect(granted).toBe(0)
    expect(waitMs).toBe(50)
  })
})

test.each([1, 3, 7, 13, 29, 97, 333, 9_999])(
  'a rate of %s is granted in full, also where a message’s share of a second cannot be written down',
  async perSecond => {
    const given = rateOf(perSecond)
    const burst = (await takeRate(database.pool, given, 10_000)).granted
    expect(burst).toBe(Math.max(1, Math.floor(perSecond / 10)))
    for (let round = 0; round < 5; round++) {
      await transaction(database.pool, async db => {
        await db.query('update carrier_rate set spent_until = now() where carrier = $1', [given.carrier])
        expect((await takeRate(db, given, 10_000)).granted).toBe(0)
      })
      await pass(given.carrier, (burst * 1_000) / perSecond)
      expect((await takeRate(database.pool, given, 10_000)).granted).toBe(burst)
    }
  },
)

test('what was not needed can be used by whoever asks next', async () => {
  const one = rateOf(1)
  await transaction(database.pool, async db => {
    expect(await takeRate(db, one, 1)).toEqual({ granted: 1, waitMs: 0 })
    expect(await takeRate(db, one, 1)).toEqual({ granted: 0, waitMs: 1_000 })
    await returnRate(db, one, 1)
    expect(await takeRate(db, one, 1)).toEqual({ granted: 1, waitMs: 0 })
  })
})

test('any number of nodes that ask at once are given the rate, not each of them one', async () => {
  const fifty = rateOf(50)
  const granted = async (): Promise<number> => (await takeRate(database.pool, fifty, 3)).granted
  const clock = async (): Promise<number> =>
    Number((await database.pool.query('select extract(epoch from clock_timestamp()) as seconds')).rows[0].seconds)
  const start = await clock()
  let total = 0
  for (let round = 0; round < 30; round++) {
    for (const count of await Promise.all(Array.from({ length: 10 }, granted))) total += count
  }
  expect(total).toBeGreaterThanOrEqual(5)
  expect(total).toBeLessThanOrEqual(5 + 50 * ((await clock()) - start))
})
