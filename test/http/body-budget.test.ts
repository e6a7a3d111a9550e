import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { BodyBudget, type BodyBudgetOptions } from '../../src/http/body-budget.js'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

function open(options: Partial<BodyBudgetOptions> = {}) {
  const failed: string[] = []
  const budget = new BodyBudget({
    bytes: 1_000,
    share: 1_000,
    waiting: 10,
    maxWaitMs: 10_000,
    slowest: { bytesPerSecond: 100, graceMs: 5_000 },
    overloaded: () => new Error('overloaded'),
    tooSlow: () => new Error('too slow'),
    ...options,
  })
  return { budget, failed, body: (name: string) => budget.open(name, () => failed.push(name)) }
}

test('what is held is what has arrived, until it is released', () => {
  const { budget, body } = open()
  const [one, other] = [body('a'), body('b')]
  one.charge(300)
  other.charge(1)
  expect(budget.heldBytes).toBe(301)
  one.complete()
  expect(budget.heldBytes).toBe(301)
  one.release()
  one.release()
  expect(budget.heldBytes).toBe(1)
})

test('the oldest body never waits for a younger one that is arriving, but for one that is being answered', async () => {
  const { body } = open()
  const [oldest, younger] = [body('a'), body('b')]
  younger.charge(900)
  oldest.charge(900)
  expect(oldest.room()).toBeNull()
  const waiting = younger.room()
  expect(waiting).not.toBeNull()
  oldest.complete()
  // The younger one is the oldest now, and has room once the other one is answered.
  expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits')
  oldest.release()
  await waiting
})

test('a sender below the lowest speed is told so once the grace time is over, and one above it is not', () => {
  const { failed, body } = open()
  const [slow, quick] = [body('slow'), body('quick')]
  slow.charge(90)
  quick.charge(400)
  vi.advanceTimersByTime(5_000)
  expect(failed).toEqual([])
  vi.advanceTimersByTime(2_000)
  expect(failed[0]).toBe('slow')
  expect(failed).not.toContain('quick')
})

test('the time that a body waits for room is not its sender’s', async () => {
  const { failed, body } = open({ maxWaitMs: 60_000 })
  const answering = body('a')
  answering.charge(1_001)
  answering.complete()
  const patient = body('patient')
  const waiting = patient.room()
  vi.advanceTimersByTime(30_000)
  expect(failed).toEqual([])
  answering.release()
  await waiting
  vi.advanceTimersByTime(4_000)
  expect(failed).toEqual([])
  vi.advanceTimersByTime(3_000)
  expect(failed).toContain('patient')
})

test('a body that waited in vain is refused', async () => {
  const { body } = open()
  const answering = body('a')
  answering.charge(1_001)
  answering.complete()
  const refused = expect(body('b').room()).rejects.toThrow('overloaded')
  vi.advanceTimersByTime(10_000)
  await refused
})
