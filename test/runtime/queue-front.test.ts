import { expect, test } from 'vitest'
import { QueueFront } from '../../src/runtime/queue-front.js'

function fronts() {
  let now = 1_000_000
  let asked = 0
  const looks: (number | null)[] = []
  const front = new QueueFront(
    async from => {
      looks.push(from?.getTime() ?? null)
      if (now < 0) throw new Error('no database')
      return new Date(now)
    },
    () => asked,
    () => now,
  )
  return {
    looks,
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

test('a look that failed is made again before the next claim', async () => {
  const { after, looks } = fronts()
  await expect(after(-1_000_001)).rejects.toThrow('no database')
  expect(await after(1_000_001)).toBe(1_000_000)
  expect(looks).toEqual([null, null])
})
