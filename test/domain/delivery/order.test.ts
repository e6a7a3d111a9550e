import { describe, expect, test } from 'vitest'
import type { DeliveryStatus } from '../../../src/domain/delivery/status.js'
import type { Fact, FactType } from '../../../src/domain/delivery/transition.js'

import { applyFact, freshStatus } from '../../support/statuses.js'

/** Words about one message that come while another one follows it. */
const at = new Date('2026-11-15T12:10:00Z')

const fact = (type: FactType, data: Fact['data'] = {}): Fact => ({ channel: 'whatsapp', type, at, source: 'test', data })

const second = (changes: Partial<DeliveryStatus> = {}): DeliveryStatus =>
  freshStatus('whatsapp', { sentAt: at, ordinal: 2, ...changes })

describe('while a second message waits for its turn', () => {
  test('a late "sent" of the first one does not take it out of the queue', () => {
    expect(applyFact(second(), fact('sent', { ordinal: 1 }))).toBeNull()
    expect(applyFact(second(), fact('sent', { ordinal: 2 }))).toMatchObject({ state: 'done' })
  })

  test('a late "delivered" of the first one proves that it arrived after all', () => {
    expect(applyFact(second(), fact('delivered', { ordinal: 1 }))).toMatchObject({ state: 'done', deliveredAt: at })
  })

  test('parts of the first one do not count for the second', () => {
    expect(applyFact(second(), fact('delivered', { ordinal: 1, part: 1, parts: 2 }))).toBeNull()
    expect(applyFact(second(), fact('delivered', { ordinal: 2, part: 1, parts: 2 }))).toMatchObject({ parts: [1] })
  })

  test.each(['queued', 'sending'] as const)('an answer is kept and what is %s goes on', state => {
    expect(applyFact(second({ state }), fact('answered', { answer: 'Ok' }))).toMatchObject({
      state,
      answeredAt: at,
      answers: [{ text: 'Ok', id: null }],
    })
  })
})

test('the hundredth answer is the last that is kept', () => {
  let status = second({ state: 'done' })
  for (let n = 0; n < 100; n++) status = applyFact(status, fact('answered', { answer: String(n), answerId: `mo-${n}` }))!
  expect(status.answers).toHaveLength(100)
  expect(applyFact(status, fact('answered', { answer: '100', answerId: 'mo-100' }))).toBeNull()
})

describe('a step that was not needed', () => {
  const notNeeded = freshStatus('sms', { state: 'cancelled', cancelReason: 'not needed', cancelledAt: at })

  test('is ended for good by finalizar', () => {
    const ended = applyFact(notNeeded, fact('cancelled', { cancelReason: 'finalized' }))
    expect(ended).toMatchObject({ state: 'cancelled', cancelReason: 'finalized' })
    expect(applyFact(ended!, fact('released'))).toBeNull()
  })

  test('waits again when what made it needless has failed', () => {
    expect(applyFact(notNeeded, fact('reopened'))).toMatchObject({ state: 'waiting', cancelReason: null, cancelledAt: null })
  })
})
