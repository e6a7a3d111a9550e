import { expect, test } from 'vitest'
import { LookBack } from '../../../src/engine/deliver/look-back.js'

function looking() {
  let now = 1_000_000
  let asked = 0
  const lookBack = new LookBack(
    () => asked,
    () => now,
  )
  return {
    after(ms: number, isAll = true): Promise<number | null> {
      now += ms
      return lookBack.look(async withinMs => ({ found: withinMs, isAll }))
    },
    ask() {
      asked++
    },
  }
}

test('after a claim that left nothing, the next ones look back to it and a margin', async () => {
  const looks = looking()
  expect(await looks.after(0)).toBeNull()
  expect(await looks.after(1_000)).toBe(31_000)
  expect(await looks.after(2_000)).toBe(32_000)
})

test('until a claim left nothing, each looks at everything; later ones that left something do not shorten the look back', async () => {
  const looks = looking()
  expect([await looks.after(0, false), await looks.after(1_000, false), await looks.after(1_000)]).toEqual([null, null, null])
  expect([await looks.after(1_000, false), await looks.after(1_000, false)]).toEqual([31_000, 32_000])
})

test('every half minute, and when it is asked for, a claim looks at everything', async () => {
  const looks = looking()
  await looks.after(0)
  expect([await looks.after(29_999), await looks.after(1)]).toEqual([59_999, null])
  expect(await looks.after(10)).toBe(30_010)
  looks.ask()
  // One that left something is no answer.
  expect([await looks.after(10, false), await looks.after(10), await looks.after(10)]).toEqual([null, null, 30_010])
})
