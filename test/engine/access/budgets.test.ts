import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Budgets, type LeaseFunction, type Verdict } from '../../../src/engine/access/budgets.js'
import { leaseBudget } from '../../../src/store/accounts/rate-windows.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

/** A node's budgets on the real table, and how often it asked there. */
function node(before: () => void = () => {}): { budgets: Budgets; leases(): number } {
  let leases = 0
  const lease: LeaseFunction = async (key, limit, chunk) => {
    leases++
    before()
    return leaseBudget(database.pool, key, limit, chunk)
  }
  return { budgets: new Budgets(lease), leases: () => leases }
}

async function spendAll(budgets: Budgets, key: string, limit: number, requests: number): Promise<number> {
  const verdicts = await Promise.all(Array.from({ length: requests }, () => budgets.spend(key, limit)))
  return verdicts.filter(verdict => verdict.allowed).length
}

describe('a request costs no query', () => {
  test('1,000 requests at once under a limit of 100,000 ask the database a few times', async () => {
    const { budgets, leases } = node()
    expect(await spendAll(budgets, randomUUID(), 100_000, 1_000)).toBe(1_000)
    expect(leases()).toBeGreaterThan(0)
    expect(leases()).toBeLessThanOrEqual(3)
  })

  test('1,000 requests in a row do too, and after the first one they are answered without waiting', async () => {
    const { budgets, leases } = node()
    const key = randomUUID()
    await budgets.spend(key, 100_000)
    for (let count = 0; count < 999; count++) expect(budgets.spend(key, 100_000)).not.toBeInstanceOf(Promise)
    expect(leases()).toBeLessThanOrEqual(3)
  })

  test('a whole budget of 6,000 is spent in at most 50 queries', async () => {
    const { budgets, leases } = node()
    expect(await spendAll(budgets, randomUUID(), 6_000, 6_100)).toBe(6_000)
    expect(leases()).toBeLessThanOrEqual(50)
  })

  test('once a budget is spent, refusals need no query', async () => {
    const { budgets, leases } = node()
    const key = randomUUID()
    expect(await spendAll(budgets, key, 40, 60)).toBe(40)
    const before = leases()
    for (let count = 0; count < 1_000; count++) {
      const verdict = budgets.spend(key, 40)
      expect(verdict).toMatchObject({ allowed: false, remaining: 0 })
    }
    expect(leases()).toBe(before)
  })
})

describe('a budget is exact on one node and nearly so on several', () => {
  for (const limit of [1, 2, 3, 39, 40, 41, 79, 81, 120, 1_000]) {
    test(`a limit of ${limit} allows ${limit}, at once and one after the other`, async () => {
      const { budgets } = node()
      expect(await spendAll(budgets, randomUUID(), limit, limit + 50)).toBe(limit)
      const key = randomUUID()
      let allowed = 0
      for (let count = 0; count < limit + 10; count++) if ((await budgets.spend(key, limit)).allowed) allowed++
      expect(allowed).toBe(limit)
    })
  }

  test('four nodes never allow more than the limit in all, and at most 10 % less, however the load is spread', async () => {
    for (const limit of [120, 2_000]) {
      for (const shares of [
        [1, 1, 1, 1],
        [20, 3, 2, 1],
        [100, 1, 1, 1],
      ]) {
        const nodes = shares.map(() => node().budgets)
        const key = randomUUID()
        const turns = shares.flatMap((share, index) => Array<number>(share).fill(index))
        let allowed = 0
        const ask = async (offset: number): Promise<void> => {
          for (let turn = offset; turn < limit * 1.5; turn += 8) {
            if ((await nodes[turns[turn % turns.length]!]!.spend(key, limit)).allowed) allowed++
          }
        }
        await Promise.all(Array.from({ length: 8 }, (_, offset) => ask(offset)))
        expect(allowed).toBeLessThanOrEqual(limit)
        expect(allowed).toBeGreaterThanOrEqual(limit * 0.9)
      }
    }
  })

  test('budgets of different keys do not touch each other', async () => {
    const { budgets } = node()
    const [first, second] = [randomUUID(), randomUUID()]
    expect(await spendAll(budgets, first, 10, 20)).toBe(10)
    expect(await spendAll(budgets, second, 10, 20)).toBe(10)
  })

  test('what is left counts down to nothing, and the end of the window is at most a minute away', async () => {
    const { budgets } = node()
    const key = randomUUID()
    const verdicts: Verdict[] = []
    for (let count = 0; count < 60; count++) verdicts.push(await budgets.spend(key, 50))
    expect(verdicts.map(verdict => verdict.remaining)).toEqual([
      ...Array.from({ length: 50 }, (_, index) => 49 - index),
      ...Array(10).fill(0),
    ])
    for (const { limit, resetSeconds } of verdicts) {
      expect(limit).toBe(50)
      expect(Number.isInteger(resetSeconds) && resetSeconds >= 1 && resetSeconds <= 60).toBe(true)
    }
  })
})

describe('windows', () => {
  /** As if the window had begun so many seconds ago, with so much of it used. */
  const begin = (key: string, secondsAgo: number, used: number): Promise<unknown> =>
    database.pool.query(
      `insert into rate_window (key, started_at, used, granted) values ($1, now() - make_interval(secs => $2), $3, 0)`,
      [key, secondsAgo, used],
    )

  test('a budget that others used up is refused at once', async () => {
    const key = randomUUID()
    await begin(key, 10, 500)
    const verdict = await node().budgets.spend(key, 500)
    expect(verdict).toMatchObject({ allowed: false, remaining: 0 })
    expect(verdict.resetSeconds).toBeLessThanOrEqual(50)
  })

  test('a node that was refused is allowed again when the window ends, with a whole budget', async () => {
    const key = randomUUID()
    await begin(key, 57, 500)
    const { budgets } = node()
    expect(await budgets.spend(key, 500)).toMatchObject({ allowed: false, remaining: 0 })
    await expect.poll(() => budgets.spend(key, 500)).toMatchObject({ allowed: true, remaining: 499 })
    expect(await spendAll(budgets, key, 500, 600)).toBe(499)
  })

  test('what was leased and not spent is not carried into the next window', async () => {
    const key = randomUUID()
    await begin(key, 57, 300)
    const { budgets } = node()
    expect(await budgets.spend(key, 400)).toMatchObject({ allowed: true, remaining: 99 })
    await expect.poll(() => budgets.spend(key, 400)).toMatchObject({ allowed: true, remaining: 399 })
    expect(await spendAll(budgets, key, 400, 500)).toBe(399)
  })

  test('a limit that is lowered counts what was used; one that is raised gives the difference', async () => {
    const key = randomUUID()
    const { budgets } = node()
    expect(await spendAll(budgets, key, 40, 50)).toBe(40)
    expect(await budgets.spend(key, 20)).toMatchObject({ allowed: false, limit: 20, remaining: 0 })
    expect(await spendAll(budgets, key, 80, 100)).toBe(40)
  })
})

describe('while the database is unavailable', () => {
  test('a request that needs a lease fails with its error, and the next one asks again', async () => {
    let away = true
    const { budgets } = node(() => {
      if (away) throw new Error('away')
    })
    const key = randomUUID()
    await expect(budgets.spend(key, 100)).rejects.toThrow('away')
    away = false
    expect(await budgets.spend(key, 100)).toMatchObject({ allowed: true, remaining: 99 })
  })

  test('held requests are still granted, although the refill fails', async () => {
    let away = false
    const { budgets } = node(() => {
      if (away) throw new Error('away')
    })
    const key = randomUUID()
    await budgets.spend(key, 4_000)
    away = true
    // A chunk is a fortieth of the limit; the second half of it is spent while refills fail.
    for (let count = 0; count < 99; count++) expect(await budgets.spend(key, 4_000)).toMatchObject({ allowed: true })
    await expect(budgets.spend(key, 4_000)).rejects.toThrow('away')
    away = false
    expect(await budgets.spend(key, 4_000)).toMatchObject({ allowed: true })
  })
})
