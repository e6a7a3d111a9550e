import { expect, test } from 'vitest'
import { BoundedCache } from '../../src/runtime/bounded-cache.js'

const has = (cache: BoundedCache<string, unknown>, ...keys: string[]): string[] =>
  keys.filter(key => cache.get(key) !== undefined)

test('the entry that was not used for longest makes room', () => {
  const cache = new BoundedCache<string, number>({ maxEntries: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  expect(cache.get('a')).toBe(1)
  cache.set('c', 3)
  expect(has(cache, 'a', 'b', 'c')).toEqual(['a', 'c'])
})

test('an entry that is set again counts once and as used', () => {
  const cache = new BoundedCache<string, number>({ maxEntries: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  cache.set('a', 10)
  cache.set('c', 3)
  expect([cache.get('a'), cache.get('b'), cache.size]).toEqual([10, undefined, 2])
})

test('an entry expires after its time to live, however often it was read', () => {
  let now = 0
  const cache = new BoundedCache<string, string>({ maxEntries: 10, ttlMs: 100, now: () => now })
  cache.set('a', 'as all')
  cache.set('b', 'shorter', 50)
  cache.set('c', 'never', Number.POSITIVE_INFINITY)
  now = 50
  expect(has(cache, 'a', 'b', 'c')).toEqual(['a', 'c'])
  now = 100
  expect(cache.size).toBe(1)
  expect(has(cache, 'a', 'b', 'c')).toEqual(['c'])
})

test('entries make room until the weight of all is within its bound; an entry over the bound is not kept', () => {
  const cache = new BoundedCache<string, string>({ maxEntries: 10, maxWeight: 10, weigh: text => text.length })
  cache.set('a', 'four')
  cache.set('b', 'four')
  cache.set('c', 'three')
  expect(has(cache, 'a', 'b', 'c')).toEqual(['b', 'c'])
  cache.delete('b')
  cache.set('d', 'fives')
  expect(has(cache, 'c', 'd')).toEqual(['c', 'd'])
  cache.set('e', 'eleven long')
  expect(has(cache, 'c', 'd', 'e')).toEqual([])
  cache.set('f', 'ten  wide.')
  expect(has(cache, 'f')).toEqual(['f'])
})

test('a cache that was cleared weighs nothing', () => {
  const cache = new BoundedCache<string, string>({ maxEntries: 10, maxWeight: 4, weigh: text => text.length })
  cache.set('a', 'four')
  cache.clear()
  expect(cache.size).toBe(0)
  cache.set('b', 'four')
  expect(cache.get('b')).toBe('four')
})
