import { describe, expect, test } from 'vitest'
import { KeyedSemaphore, Semaphore } from '../../src/runtime/semaphore.js'
import { deferred } from '../support/deferred.js'

const refusal = (): Error => new Error('full')

describe('a count of holders', () => {
  test('few run at once, the next ones in order of arrival, and one more than may wait is refused', async () => {
    const semaphore = new Semaphore({ permits: 1, maxWaiting: 2, refusal })
    const gates = [deferred<void>(), deferred<void>(), deferred<void>()]
    const started: number[] = []
    const running = gates.map((gate, index) =>
      semaphore.run(async () => {
        started.push(index)
        await gate.promise
        return index
      }),
    )
    await expect(semaphore.run(async () => 9)).rejects.toThrow('full')
    expect(started).toEqual([0])
    for (const [index, gate] of gates.entries()) {
      gate.resolve()
      expect(await running[index]).toBe(index)
    }
    expect(started).toEqual([0, 1, 2])
    expect(semaphore.idle).toBe(true)
  })

  test('work that fails gives its permit back', async () => {
    const semaphore = new Semaphore({ permits: 1 })
    const failing = semaphore.run(() => Promise.reject(new Error('broken')))
    const next = semaphore.run(async () => 'ran')
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('ran')
  })

  test('a released permit is the next waiter’s, not a newcomer’s', async () => {
    const semaphore = new Semaphore({ permits: 1 })
    expect(semaphore.acquire()).toBeNull()
    const waiting = semaphore.acquire()
    semaphore.release()
    expect(semaphore.acquire()).not.toBeNull()
    await waiting
  })
})

describe('bytes', () => {
  test('a later request waits, also when it would fit, and is served in order of arrival', async () => {
    const semaphore = new Semaphore({ permits: 100 })
    const served: string[] = []
    expect(semaphore.acquire(60)).toBeNull()
    const large = semaphore.acquire(60)!.then(() => served.push('large'))
    const small = semaphore.acquire(10)!.then(() => served.push('small'))
    semaphore.release(60)
    await Promise.all([large, small])
    expect(served).toEqual(['large', 'small'])
    expect(semaphore.acquire(31)).not.toBeNull()
  })

  test('a request larger than the whole is granted alone, and leaves the whole as it was', async () => {
    const semaphore = new Semaphore({ permits: 100 })
    expect(semaphore.acquire(1)).toBeNull()
    const huge = semaphore.acquire(1_000)!
    semaphore.release(1)
    await huge
    const next = semaphore.acquire(1)!
    semaphore.release(1_000)
    await next
    expect(semaphore.acquire(99)).toBeNull()
    expect(semaphore.acquire(1)).not.toBeNull()
  })
})

describe('a waiter', () => {
  test('that gives up makes way for a smaller one behind it', async () => {
    const semaphore = new Semaphore({ permits: 100 })
    expect(semaphore.acquire(60)).toBeNull()
    const leaving = new AbortController()
    const large = semaphore.acquire(60, leaving.signal)!
    const small = semaphore.acquire(40)!
    leaving.abort(new Error('gave up'))
    await expect(large).rejects.toThrow('gave up')
    await small
    semaphore.release(60)
    semaphore.release(40)
    expect(semaphore.idle).toBe(true)
  })

  test('whose signal was aborted before does not wait, but takes a free permit', async () => {
    const semaphore = new Semaphore({ permits: 1 })
    const aborted = AbortSignal.abort(new Error('gave up'))
    expect(semaphore.acquire(1, aborted)).toBeNull()
    await expect(semaphore.acquire(1, aborted)).rejects.toThrow('gave up')
  })

  test('is refused when its time is over, and keeps no permit', async () => {
    const semaphore = new Semaphore({ permits: 1, maxWaitMs: 5, refusal })
    expect(semaphore.acquire()).toBeNull()
    await expect(semaphore.acquire()).rejects.toThrow('full')
    semaphore.release()
    expect(semaphore.idle).toBe(true)
  })
})

test('one key’s waiters are not another’s', async () => {
  const semaphores = new KeyedSemaphore({ permits: 1, maxWaiting: 0, refusal })
  const gate = deferred<void>()
  const held = semaphores.run('a', () => gate.promise)
  await expect(semaphores.run('a', async () => 1)).rejects.toThrow('full')
  expect(await semaphores.run('b', async () => 2)).toBe(2)
  gate.resolve()
  await held
  expect(await semaphores.run('a', async () => 3)).toBe(3)
})
