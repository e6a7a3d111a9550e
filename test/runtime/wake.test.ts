import { expect, test } from 'vitest'
import { throttle, Wake, Wakes } from '../../src/runtime/wake.js'

/** Whether a wait has ended by the next turn of the event loop. */
async function hasEnded(wait: Promise<void>): Promise<boolean> {
  let ended = false
  void wait.then(() => {
    ended = true
  })
  await new Promise(resolve => setImmediate(resolve))
  return ended
}

test('a notification ends the waits of all', async () => {
  const wake = new Wake()
  const waits = [wake.wait(60_000), wake.wait(60_000)]
  expect(await hasEnded(waits[0]!)).toBe(false)
  wake.notify()
  await Promise.all(waits)
})

test('a notification that came while somebody looked for work ends the wait that follows, and no later one', async () => {
  const wake = new Wake()
  const seen = wake.notified
  wake.notify()
  await wake.wait(60_000, seen)
  const next = wake.wait(60_000, wake.notified)
  expect(await hasEnded(next)).toBe(false)
  wake.notify()
  await next
})

test('a notification of topics ends the waits for these alone, one without topics those for all', async () => {
  const wakes = new Wakes<'a' | 'b' | 'c'>()
  const [a, b] = [wakes.of('a').wait(60_000), wakes.of('b').wait(60_000)]
  wakes.notify(['a', 'c'])
  await a
  expect(await hasEnded(b)).toBe(false)
  wakes.notify()
  await b
})

test('calls in quick succession are one, with the topics of all', async () => {
  const calls: string[][] = []
  const call = throttle(20, async topics => void calls.push([...topics]))
  call([])
  for (const topic of ['a', 'b', 'c', 'b']) call([topic])
  await expect.poll(() => calls).toEqual([['a'], ['b', 'c']])
})
