import { expect, test } from 'vitest'
import { Turnstile, Turnstiles } from '../../src/runtime/semaphore.js'
import { deferred } from '../support/deferred.js'

test('few pass at once, the next ones in their order, and whoever finds the queue full is sent away', async () => {
  const turnstile = new Turnstile(1, 2)
  const gates = [deferred<void>(), deferred<void>(), deferred<void>()]
  const started: number[] = []
  const passing = gates.map((gate, index) =>
    turnstile.pass(async () => {
      started.push(index)
      await gate.promise
      return index
    }),
  )
  await expect(turnstile.pass(async () => 9)).rejects.toMatchObject({ code: 'overloaded' })
  expect(started).toEqual([0])
  for (const [index, gate] of gates.entries()) {
    gate.resolve()
    expect(await passing[index]).toBe(index)
  }
  expect(started).toEqual([0, 1, 2])
  expect(turnstile.idle).toBe(true)
})

test('work that fails makes room as well', async () => {
  const turnstile = new Turnstile(1, 1)
  const failing = turnstile.pass(() => Promise.reject(new Error('broken')))
  const next = turnstile.pass(async () => 'passed')
  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('passed')
})

test('one key’s queue is not another’s', async () => {
  const turnstiles = new Turnstiles(1, 0)
  const gate = deferred<void>()
  const held = turnstiles.pass('a', () => gate.promise)
  await expect(turnstiles.pass('a', async () => 1)).rejects.toMatchObject({ code: 'overloaded' })
  expect(await turnstiles.pass('b', async () => 2)).toBe(2)
  gate.resolve()
  await held
  expect(await turnstiles.pass('a', async () => 3)).toBe(3)
})
