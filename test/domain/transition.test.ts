import { describe, expect, test } from 'vitest'
import { type DeliveryStatus, newStatus } from '../../src/domain/status.js'
import { applyFact, type Fact } from '../../src/domain/transition.js'

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute))
const fact = (type: Fact['type'], minute: number, data: Fact['data'] = {}): Fact => ({
  channel: 'voice',
  type,
  at: at(minute),
  source: 'test',
  data,
})
const begin = (): DeliveryStatus => newStatus('voice', 'sending', at(0))
const sum = (...facts: Fact[]): DeliveryStatus => facts.reduce((status, next) => applyFact(status, next) ?? status, begin())

describe('a report that overtakes the answer to the send', () => {
  test('says that it was sent', () => {
    expect(sum(fact('failed', 1, { failure: 'busy', ordinal: 1 }))).toMatchObject({
      sentAt: at(1),
      failedAt: at(1),
      state: 'done',
    })
    expect(sum(fact('again', 1, { ordinal: 1 }))).toMatchObject({ sentAt: at(1), state: 'queued', ordinal: 2 })
  })

  test('a refusal of our own says no such thing', () => {
    expect(sum(fact('failed', 1, { failure: 'rejected' }))).toMatchObject({ sentAt: null })
  })
})

describe('what is told of an earlier message', () => {
  test('does not take the next one off the queue', () => {
    const waiting = sum(fact('again', 1, { ordinal: 1 }))
    expect(applyFact(waiting, fact('sent', 2, { ordinal: 1 }))).toBeNull()
    expect(applyFact(waiting, fact('sent', 2, { ordinal: 2 }))).toMatchObject({ state: 'done' })
    expect(applyFact(waiting, fact('sent', 2))).toMatchObject({ state: 'done' })
  })
})

describe('a call that was heard', () => {
  const heard = sum(fact('delivered', 1, { ordinal: 1 }))

  test.each(['no-answer', 'busy', 'machine'] as const)('is not %s as well', failure => {
    expect(applyFact(heard, fact('failed', 2, { failure, ordinal: 1 }))).toBeNull()
  })

  test('an e-mail that arrived can still bounce', () => {
    expect(applyFact(heard, fact('failed', 2, { failure: 'bounced' }))).toMatchObject({ failure: 'bounced', deliveredAt: at(1) })
  })
})

describe('a recording', () => {
  test('is told once, and proves that the call was made', () => {
    const recorded = sum(fact('recorded', 1, { recording: 'aa', ordinal: 1 }))
    expect(recorded).toMatchObject({ trackingCode: 'aa', state: 'done', sentAt: at(1) })
    expect(applyFact(recorded, fact('recorded', 2, { recording: 'aa', ordinal: 1 }))).toBeNull()
    expect(applyFact(recorded, fact('recorded', 2, { recording: 'bb', ordinal: 1 }))).toMatchObject({ trackingCode: 'bb' })
  })

  test('of an earlier call is evidence, and leaves the next one where it is', () => {
    const waiting = sum(fact('again', 1, { ordinal: 1 }))
    expect(applyFact(waiting, fact('recorded', 2, { recording: 'aa', ordinal: 1 }))).toBe(waiting)
  })
})

describe('what is told of an earlier time', () => {
  const told = (minute: number): Fact['data'] => ({ occurredAt: at(minute).toISOString() })

  test('bears that time', () => {
    expect(sum(fact('sent', 1), fact('delivered', 9, told(4)))).toMatchObject({ sentAt: at(1), deliveredAt: at(4) })
  })

  test('comes after what it needs, and not after it was written down', () => {
    expect(sum(fact('sent', 5), fact('delivered', 9, told(2)))).toMatchObject({ deliveredAt: at(5) })
    expect(sum(fact('delivered', 6), fact('read', 9, told(2)))).toMatchObject({ deliveredAt: at(6), readAt: at(6) })
    expect(sum(fact('sent', 1), fact('read', 7), fact('confirmed', 9, told(2)))).toMatchObject({ confirmedAt: at(7) })
    expect(sum(fact('sent', 1), fact('delivered', 9, told(30)))).toMatchObject({ deliveredAt: at(9) })
  })

  test('does not wait for what happened on the side', () => {
    expect(sum(fact('sent', 1), fact('link opened', 8), fact('delivered', 9, told(3)))).toMatchObject({ deliveredAt: at(3) })
  })
})
