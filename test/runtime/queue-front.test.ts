import { expect, test } from 'vitest'
import { QueueFront } from '../../src/runtime/queue-front.js'

function fronts() {
  let now = 1_000_000
  let asked = 0
  let isDown = false
  let tookMs = 0
  const looks: (number | null)[] = []
  const errors: unknown[] = []
  const front = new QueueFront({
    find: async from => {
      looks.push(from?.getTime() ?? null)
      now += tookMs
      if (isDown) throw new Error('no database')
      return new Date(now)
    },
    asked: () => asked,
    onError: error => errors.push(error),
    now: () => now,
  })
  return {
    looks,
    errors,
    /** The time from which on the claim looked. */
    async after(ms: number, claims = 0): Promise<number> {
      now += ms
      let from = 0
      await front.claim(async at => {
        from = at.getTime()
        return Array(claims).fill(null)
      })
      return from
    },
    ask() {
      asked++
    },
    fail(down: boolean, ms = 0) {
      isDown = down
      tookMs = ms
    },
  }
}

test('claims begin at the front that was found, which is looked for again from there once much was claimed', async () => {
  const { after, looks } = fronts()
  expect([await after(0, 499), await after(1_000, 1), await after(1_000, 10)]).toEqual([1_000_000, 1_000_000, 1_002_000])
  expect(await after(1_000)).toBe(1_002_000)
  expect(looks).toEqual([null, 1_000_000])
})

test('every half minute, and when it is asked for, the front is looked for from the beginning', async () => {
  const { after, looks, ask } = fronts()
  expect([await after(0), await after(29_999), await after(1), await after(1)]).toEqual([
    1_000_000, 1_000_000, 1_030_000, 1_030_000,
  ])
  ask()
  expect([await after(1), await after(1)]).toEqual([1_030_002, 1_030_002])
  expect(looks).toEqual([null, null, null])
})

test('a first look that fails lets no claim go, and is made again', async () => {
  const { after, looks, errors, fail } = fronts()
  fail(true)
  await expect(after(0)).rejects.toThrow('no database')
  fail(false)
  expect(await after(1)).toBe(1_000_001)
  expect([looks, errors]).toEqual([[null, null], []])
})

test('a later look from the beginning that fails is told and made again; until then claims begin at the front that is known', async () => {
  const { after, looks, errors, ask, fail } = fronts()
  expect(await after(0)).toBe(1_000_000)
  ask()
  fail(true)
  expect([await after(1), await after(1)]).toEqual([1_000_000, 1_000_000])
  expect(errors).toEqual([new Error('no database'), new Error('no database')])
  fail(false)
  expect([await after(1), await after(1)]).toEqual([1_000_003, 1_000_003])
  expect(looks).toEqual([null, null, null, null])
})

test('after a look from the beginning that took long and failed, claims go on for three times as long', async () => {
  const { after, looks, errors, ask, fail } = fronts()
  expect(await after(0)).toBe(1_000_000)
  ask()
  fail(true, 10_000)
  expect([await after(1), await after(29_999)]).toEqual([1_000_000, 1_000_000])
  expect([looks.length, errors.length]).toEqual([2, 1])
  fail(false)
  expect(await after(1)).toBe(1_040_001)
  expect(looks).toEqual([null, null, null])
})
