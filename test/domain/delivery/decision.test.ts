import { expect, test } from 'vitest'
import { moduleOf } from '../../../src/channels/registry.js'
import { decide as decideBy, type Planned } from '../../../src/domain/delivery/decision.js'
import { type DeliveryStatus, describe } from '../../../src/domain/delivery/status.js'
import { FALLBACK_STEP, type StepCondition } from '../../../src/domain/send/sequence.js'

import { applyFact, freshStatus } from '../../support/statuses.js'

const decide = (deliveries: readonly Planned[], at: Date) => decideBy(deliveries, at, moduleOf)
const label = (status: DeliveryStatus): string => describe(status, moduleOf(status.channel))

const now = new Date('2026-11-15T12:10:00Z')
const later = new Date('2026-11-15T12:30:00Z')

const email = (changes: Partial<DeliveryStatus> = {}): Planned => ({
  status: freshStatus('email', { state: 'done', sentAt: now, ...changes }),
  step: 1,
  condition: 'always',
  dueAt: now,
})

const sms = (condition: StepCondition = 'not delivered', changes: Partial<DeliveryStatus> = {}, dueAt = later): Planned => ({
  status: freshStatus('sms', { state: 'waiting', ...changes }),
  step: 2,
  condition,
  dueAt,
})

test('an SMS waits while the e-mail is under way', () => {
  expect(decide([email(), sms()], now)).toEqual([])
})

test('an SMS is not sent once the e-mail was delivered, and the reason says when', () => {
  expect(decide([email({ deliveredAt: now }), sms()], now)).toMatchObject([
    {
      channel: 'sms',
      type: 'cancelled',
      data: { cancelReason: 'not needed', reason: 'SMS não enviado: e-mail entregue às 15/11/2026 09:10:00' },
    },
  ])
})

test('a decision has the gender of its channel', () => {
  const letter: Planned = { status: freshStatus('letter', { state: 'waiting' }), step: 2, condition: 'not read', dueAt: later }
  const call: Planned = {
    status: freshStatus('voice', { state: 'done', sentAt: now, readAt: now }),
    step: 1,
    condition: 'always',
    dueAt: now,
  }
  expect(decide([call, letter], now)).toMatchObject([
    { data: { reason: 'carta não enviada: ligação lida às 15/11/2026 09:10:00' } },
  ])
})

test("the SMS of typeSend '1' looks at the e-mail alone, whatever other channels of a sequence did", () => {
  const whatsapp: Planned = {
    status: freshStatus('whatsapp', { state: 'done', sentAt: now, deliveredAt: now }),
    step: 1,
    condition: 'always',
    dueAt: now,
  }
  const fallback = { ...sms(), step: FALLBACK_STEP }
  expect(decide([whatsapp, { ...email(), step: 2 }, fallback], now)).toEqual([])
  const bounced = { ...email({ failure: 'bounced', failedAt: now }), step: 2 }
  expect(decide([whatsapp, bounced, fallback], now)).toMatchObject([{ channel: 'sms', type: 'released' }])
})

test('a bounce releases the next step alone: those after it wait for it again', () => {
  const bounced = email({ deliveredAt: now, failure: 'bounced', failedAt: later })
  const notNeeded = { state: 'cancelled', cancelReason: 'not needed', cancelledAt: now } as const
  const letter: Planned = { status: freshStatus('letter', notNeeded), step: 3, condition: 'not delivered', dueAt: now }
  const [first] = decide([bounced, sms('not delivered', notNeeded), letter], later)
  expect(first).toMatchObject({ channel: 'sms', type: 'released' })
  expect(decide([bounced, sms('not delivered', { state: 'queued' }), letter], later)).toMatchObject([
    { channel: 'letter', type: 'reopened', data: { reason: 'carta volta a aguardar: e-mail falhou' } },
  ])
})

test('who answered was reached, although no carrier said so', () => {
  expect(decide([email({ answeredAt: now }), sms()], later)).toMatchObject([{ channel: 'sms', type: 'cancelled' }])
})

test.each(['failed', 'not delivered', 'not read', 'not confirmed'] as const)(
  'a failed e-mail releases a step of condition "%s" at once',
  condition => {
    expect(decide([email({ failure: 'bounced', failedAt: now }), sms(condition)], now)).toMatchObject([
      { type: 'released', data: { reason: 'SMS liberado: e-mail falhou' } },
    ])
  },
)

test('time alone releases an SMS whose e-mail was not delivered, but never one that needs a failure', () => {
  expect(decide([email(), sms()], later)).toMatchObject([
    { type: 'released', data: { reason: 'SMS liberado: entrega não confirmada no prazo' } },
  ])
  expect(decide([email(), sms('failed')], later)).toEqual([])
  expect(decide([email(), sms('always')], later)).toMatchObject([{ type: 'released' }])
})

test('a bounce after delivery revives an SMS that was not needed, once', () => {
  const notNeeded = sms('not delivered', { state: 'cancelled', cancelReason: 'not needed', cancelledAt: now })
  expect(decide([email({ deliveredAt: now }), notNeeded], later)).toEqual([])
  const [fact] = decide([email({ deliveredAt: now, failure: 'bounced', failedAt: later }), notNeeded], later)
  expect(fact).toMatchObject({ type: 'released' })
  const revived = applyFact(notNeeded.status, fact!)!
  expect(revived).toMatchObject({ state: 'queued', cancelReason: null })
  expect(applyFact(revived, fact!)).toBeNull()
})

test('a sequence that the sender finalized is never revived', () => {
  const finalized = sms('not delivered', { state: 'cancelled', cancelReason: 'finalized', cancelledAt: now })
  expect(decide([email({ failure: 'bounced' }), finalized], later)).toEqual([])
})

test('a third step looks at all the earlier ones', () => {
  const letter = (condition: StepCondition): Planned => ({
    status: freshStatus('letter', { state: 'waiting' }),
    step: 3,
    condition,
    dueAt: later,
  })
  const sent = sms('not delivered', { state: 'done', sentAt: now })
  const read = sms('not delivered', { state: 'done', sentAt: now, deliveredAt: now, linkOpenedAt: now })
  expect(decide([email({ failure: 'bounced' }), sent, letter('not read')], now)).toEqual([])
  expect(decide([email({ failure: 'bounced' }), read, letter('not read')], now)).toMatchObject([
    { channel: 'letter', type: 'cancelled' },
  ])
  expect(
    decide(
      [email({ failure: 'bounced' }), { ...sent, status: { ...sent.status, failure: 'undelivered' } }, letter('failed')],
      now,
    ),
  ).toMatchObject([{ channel: 'letter', type: 'released' }])
})

test('facts that come twice, late or out of order tell nothing new, and dates are the first ones', () => {
  const sent = applyFact(freshStatus('email'), { channel: 'email', type: 'sent', at: now, source: 'smtp', data: {} })!
  expect(applyFact(sent, { channel: 'email', type: 'sent', at: later, source: 'smtp', data: {} })).toBeNull()
  const read = applyFact(sent, { channel: 'email', type: 'read', at: later, source: 'recipient', data: {} })!
  expect(read).toMatchObject({ sentAt: now, deliveredAt: later, readAt: later })
  expect(applyFact(read, { channel: 'email', type: 'delivered', at: later, source: 'dsn', data: {} })).toBeNull()
})

test('a report that overtakes our own "sent" counts as sent, too', () => {
  const delivered = applyFact(freshStatus('email', { state: 'sending' }), {
    channel: 'email',
    type: 'delivered',
    at: now,
    source: 'dsn',
    data: {},
  })!
  expect(delivered).toMatchObject({ state: 'done', sentAt: now, deliveredAt: now })
  expect(label(delivered)).toBe('Entregue')
})

test('a bounce after "Entregue" keeps the dates and sets the error', () => {
  const status = freshStatus('email', { state: 'done', sentAt: now, deliveredAt: now })
  const bounced = applyFact(status, {
    channel: 'email',
    type: 'failed',
    at: later,
    source: 'dsn',
    data: { failure: 'bounced', failureDetail: 'x' },
  })!
  expect(bounced).toMatchObject({ sentAt: now, deliveredAt: now, failure: 'bounced', failedAt: later })
  expect(label(bounced)).toBe('Devolvido')
})

test('a channel outside the order neither holds back nor replaces the SMS of the e-mail', () => {
  const whatsapp = (changes: Partial<DeliveryStatus>): Planned => ({
    status: freshStatus('whatsapp', changes),
    step: 0,
    condition: 'always',
    dueAt: now,
  })
  const bounced = email({ failure: 'bounced', failedAt: now })
  expect(decide([bounced, sms(), whatsapp({ state: 'done', sentAt: now, deliveredAt: now })], now)).toMatchObject([
    { type: 'released' },
  ])
  expect(decide([bounced, sms(), whatsapp({})], now)).toMatchObject([{ type: 'released' }])
})
