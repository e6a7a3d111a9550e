import { expect, test } from 'vitest'
import { newStatus } from '../../../src/domain/delivery/status.js'
import type { Fact, FactType } from '../../../src/domain/delivery/transition.js'
import { applyFact } from '../../support/statuses.js'

const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 15, 12, minute))
const fact = (type: FactType, minute: number, data: Fact['data'] = {}): Fact => ({
  channel: 'letter',
  type,
  at: at(minute),
  source: 'test',
  data,
})
const sending = { ...newStatus('letter', 'queued', at(0)), state: 'sending' as const }

test('a letter that the carrier took is no longer anybody’s to send, and not sent yet', () => {
  expect(applyFact(sending, fact('processed', 1))).toMatchObject({ state: 'done', processedAt: at(1), sentAt: null })
})

test('what is uncertain and found at the carrier is processed again, with its first date', () => {
  const uncertain = { ...sending, state: 'uncertain' as const, processedAt: at(1) }
  expect(applyFact(uncertain, fact('processed', 5))).toMatchObject({ state: 'done', processedAt: at(1) })
  expect(applyFact({ ...uncertain, state: 'done' }, fact('processed', 5))).toBeNull()
})

test('a letter that was posted had been made; an e-mail that was sent was not', () => {
  expect(applyFact(sending, fact('sent', 3))).toMatchObject({ processedAt: at(3), preparedAt: at(3), sentAt: at(3) })
  const email = { ...newStatus('email', 'queued', at(0)), state: 'sending' as const }
  expect(applyFact(email, { ...fact('sent', 3), channel: 'email' })).toMatchObject({
    processedAt: null,
    preparedAt: null,
    sentAt: at(3),
  })
})

test('the code is taken from whatever report is the first to name it, and never changed', () => {
  const posted = applyFact(sending, fact('sent', 3))!
  const named = applyFact(posted, fact('prepared', 4, { trackingCode: 'AA473124829BR' }))!
  expect(named).toEqual({ ...posted, trackingCode: 'AA473124829BR' })
  expect(applyFact(named, fact('sent', 5, { trackingCode: 'YJ000000005BR' }))).toBeNull()
})

test('a letter that the carrier made was not refused, whoever gave it up before', () => {
  const refused = applyFact(
    { ...sending, state: 'unresolved' as const, unknownCount: 1 },
    fact('failed', 2, { failure: 'rejected' }),
  )!
  expect(refused).toMatchObject({ failure: 'rejected', failedAt: at(2) })
  const made = fact('prepared', 3, { ordinal: 1, trackingCode: 'AA473124829BR' })
  expect(applyFact(refused, made)).toMatchObject({
    state: 'done',
    failure: null,
    failedAt: null,
    processedAt: at(3),
    preparedAt: at(3),
    trackingCode: 'AA473124829BR',
  })
})

test('that an earlier letter was made says nothing about the one that follows it', () => {
  const next = { ...sending, ordinal: 2 }
  expect(applyFact(next, fact('prepared', 3, { ordinal: 1 }))).toBeNull()
  expect(applyFact(next, fact('prepared', 3, { ordinal: 2 }))).toMatchObject({ state: 'done', preparedAt: at(3) })
  const madeBefore = { ...next, state: 'uncertain' as const, processedAt: at(1), preparedAt: at(1) }
  expect(applyFact(madeBefore, fact('prepared', 3, { ordinal: 2 }))).toMatchObject({ state: 'done', preparedAt: at(1) })
})
