import { expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { takeRandom } from '../../src/domain/random.js'

test('random bytes are never given twice, across blocks of them', () => {
  const taken = Array.from({ length: 2_000 }, () => takeRandom(16).toString('hex'))
  expect(new Set(taken).size).toBe(taken.length)
})

test('bytes once given stay as they are while more are taken', () => {
  const first = takeRandom(16)
  const before = first.toString('hex')
  for (let round = 0; round < 1_000; round++) takeRandom(16)
  expect(first.toString('hex')).toBe(before)
})

test('ids of one moment grow and differ', () => {
  const ids = Array.from({ length: 5_000 }, () => newId(1_700_000_000_000))
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})
