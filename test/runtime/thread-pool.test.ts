import { expect, onTestFinished, test, vi } from 'vitest'
import { ThreadPool, type ThreadPoolOptions } from '../../src/runtime/thread-pool.js'
import { FILE, PURPOSE, type Question } from './thread-answers.js'
import { silence } from './thread-silence.js'

function open(options: Partial<ThreadPoolOptions> = {}): ThreadPool<Question, unknown> {
  const pool = new ThreadPool<Question, unknown>({ file: FILE, purpose: PURPOSE, threads: 1, ...options })
  onTestFinished(() => pool.close())
  return pool
}

test('questions are answered, also many at once over several threads', async () => {
  const pool = open({ threads: 2 })
  const numbers = Array.from({ length: 100 }, (_, index) => index)
  expect(await Promise.all(numbers.map(double => pool.ask({ double })))).toEqual(numbers.map(double => double * 2))
  const threads = await Promise.all([pool.ask('thread'), pool.ask('thread')])
  expect(new Set(threads).size).toBe(2)
})

test('a thread is given the data of its pool', async () => {
  expect(await open({ data: { limit: 7 } }).ask('data')).toEqual({ limit: 7 })
})

test('an answering function that throws fails its question, and the thread lives on', async () => {
  const pool = open()
  const before = await pool.ask('thread')
  await expect(pool.ask('throw')).rejects.toThrow('TypeError: cannot')
  expect(await pool.ask('thread')).toBe(before)
})

test('an answer that takes too long fails alone; the questions behind it are answered by another thread', async () => {
  const pool = open({ limitMs: 2_000 })
  const before = await pool.ask('thread')
  const hanging = pool.ask('hang')
  const behind = [pool.ask({ double: 4 }), pool.ask('thread')]
  await expect(hanging).rejects.toMatchObject({ name: 'OutOfTime' })
  expect(await behind[0]).toBe(8)
  expect(await behind[1]).not.toBe(before)
})

test('a thread that never starts fails its question after a while, and the next question opens another', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const pool = open(silence)
  const [first, second] = [pool.ask({ double: 1 }), pool.ask({ double: 2 })].map(asked =>
    expect(asked).rejects.toMatchObject({ name: 'OutOfTime' }),
  )
  vi.advanceTimersByTime(60_000)
  await first
  vi.advanceTimersByTime(60_000)
  await second
})

test('a thread that fills its heap dies alone, with the question that did it', async () => {
  const pool = open({ heapMib: 32 })
  const filling = pool.ask('fill the heap')
  const behind = pool.ask({ double: 4 })
  await expect(filling).rejects.toMatchObject({ name: 'ThreadDied', cause: { code: 'ERR_WORKER_OUT_OF_MEMORY' } })
  expect(await behind).toBe(8)
})

test('bytes that are handed over are moved, and are not lost with a thread that dies of an earlier question', async () => {
  const pool = open()
  const bytes = new Uint8Array(1_000)
  expect(await pool.ask({ bytes }, [bytes.buffer])).toBe(1_000)
  expect(bytes.byteLength).toBe(0)
  const [first, second] = [new Uint8Array(100), new Uint8Array(200)]
  const asked = [
    pool.ask('exit'),
    pool.ask({ bytes: first }, [first.buffer]),
    pool.ask({ double: 2 }),
    pool.ask('exit'),
    pool.ask({ bytes: second }, [second.buffer]),
  ]
  const outcomes = await Promise.allSettled(asked)
  expect(outcomes).toMatchObject([
    { status: 'rejected', reason: { name: 'ThreadDied' } },
    { status: 'fulfilled', value: 100 },
    { status: 'fulfilled', value: 4 },
    { status: 'rejected', reason: { name: 'ThreadDied' } },
    { status: 'fulfilled', value: 200 },
  ])
})

test('a question that cannot be passed to a thread fails alone', async () => {
  const pool = open()
  const unclonable = { double: () => {} } as unknown as Question
  const [failed, next] = await Promise.allSettled([pool.ask(unclonable), pool.ask({ double: 2 })])
  expect(failed).toMatchObject({ status: 'rejected', reason: { name: 'DataCloneError' } })
  expect(next).toEqual({ status: 'fulfilled', value: 4 })
  expect(await pool.ask({ double: 3 })).toBe(6)
})

test('one question more than may be pending is refused with the caller’s error', async () => {
  const pool = open({ maxPending: 2, overloaded: () => new Error('come back') })
  const asked = [pool.ask({ double: 1 }), pool.ask({ double: 2 })]
  await expect(pool.ask({ double: 3 })).rejects.toThrow('come back')
  expect(await Promise.all(asked)).toEqual([2, 4])
  expect(await pool.ask({ double: 3 })).toBe(6)
})

test('closing fails what is pending', async () => {
  const pool = open()
  const hanging = pool.ask('hang')
  const failed = expect(hanging).rejects.toMatchObject({ name: 'ThreadDied' })
  await pool.close()
  await failed
})
