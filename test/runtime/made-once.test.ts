import { expect, test } from 'vitest'
import { makeOnce } from '../../src/runtime/made-once.js'
import { deferred } from '../support/deferred.js'

test('calls that come together share the work, and later calls find the value', async () => {
  const once = makeOnce<string>({ maxEntries: 10 })
  const gate = deferred<string>()
  let makes = 0
  const make = () => {
    makes++
    return gate.promise
  }
  const together = [once('a', make), once('a', make), once('a', make)]
  gate.resolve('value')
  expect(await Promise.all(together)).toEqual(['value', 'value', 'value'])
  expect(await once('a', make)).toBe('value')
  expect(makes).toBe(1)
  expect(await once('b', async () => 'other')).toBe('other')
})

test('an error reaches all who share the work, and the next call makes the value again', async () => {
  const once = makeOnce<string>({ maxEntries: 10 })
  const gate = deferred<string>()
  const together = [once('a', () => gate.promise), once('a', () => gate.promise)]
  gate.reject(new Error('not now'))
  expect(await Promise.allSettled(together)).toMatchObject([
    { status: 'rejected', reason: { message: 'not now' } },
    { status: 'rejected', reason: { message: 'not now' } },
  ])
  const thrown = once('a', () => {
    throw new Error('at once')
  })
  await expect(thrown).rejects.toThrow('at once')
  expect(await once('a', async () => 'value')).toBe('value')
})

test('a value that is not to be kept, or that made room for others, is made again', async () => {
  const once = makeOnce<string | null>({ maxEntries: 1, isKept: value => value !== null })
  expect(await once('a', async () => null)).toBeNull()
  expect(await once('a', async () => 'first')).toBe('first')
  expect(await once('b', async () => 'beside')).toBe('beside')
  expect(await once('a', async () => 'second')).toBe('second')
})
