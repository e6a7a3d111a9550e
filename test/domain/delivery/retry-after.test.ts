import { expect, test } from 'vitest'
import { readRetryAfter } from '../../../src/domain/delivery/retry-after.js'

const NOW = Date.parse('2026-11-15T12:00:00Z')

test.each([
  ['120', 120_000],
  ['Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
  ['Sunday, 15-Nov-26 12:00:30 GMT', 30_000],
])('%s is %d ms', (text, ms) => {
  expect(readRetryAfter(text, NOW)).toBe(ms)
})

test.each(['999999999', '9'.repeat(400), 'Sun, 15 Nov 2099 12:00:30 GMT'])('%s is bounded to an hour', text => {
  expect(readRetryAfter(text, NOW)).toBe(3_600_000)
})

test.each([undefined, '', '0', '-5', '1.5', 'soon', 'Sun, 15 Nov 2020 12:00:30 GMT', ['1', '2']])('%j is nothing', odd => {
  expect(readRetryAfter(odd, NOW)).toBeNull()
})
