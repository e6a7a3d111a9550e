import { expect, test } from 'vitest'
import { Breaker } from '../../../src/engine/deliver/breaker.js'
import { engineTiming } from '../../../src/engine/timing.js'

function scripted() {
  let now = 0
  const breaker = new Breaker(engineTiming, () => now)
  return { breaker, pass: (ms: number) => (now += ms), fail: (times: number, period = breaker.period) => repeat(times, period) }
  function repeat(times: number, period: number): void {
    for (let count = 0; count < times; count++) breaker.failed(period)
  }
}

test('ten failures in a row make a pause of a second, and then one delivery finds out', () => {
  const { breaker, pass, fail } = scripted()
  fail(9)
  breaker.succeeded()
  fail(9)
  expect(breaker.allows()).toBe(true)
  fail(1)
  expect(breaker.allows()).toBe(false)
  pass(1_000)
  expect(breaker.allows()).toBe(true)
  expect(breaker.probing).toBe(true)
})

test('a blip that forty deliveries were caught in makes one pause, also where some of them end after it', () => {
  const { breaker, pass, fail } = scripted()
  const { period } = breaker
  fail(35, period)
  pass(1_000)
  expect(breaker.allows()).toBe(true)
  fail(5, period)
  expect(breaker.allows()).toBe(true)
})

test('every probe that fails doubles the pause, up to half a minute; one that succeeds ends it', () => {
  const { breaker, pass, fail } = scripted()
  fail(10)
  for (const pause of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    pass(pause - 1)
    expect(breaker.allows()).toBe(false)
    pass(1)
    expect(breaker.allows()).toBe(true)
    fail(1)
  }
  breaker.succeeded()
  expect(breaker.allows()).toBe(true)
  expect(breaker.probing).toBe(false)
})
