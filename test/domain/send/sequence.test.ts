import { describe, expect, test } from 'vitest'
import { channels, moduleOf } from '../../../src/channels/registry.js'
import { completeSettings, type StoredSettings } from '../../../src/domain/account.js'
import type { Channel } from '../../../src/domain/channel.js'
import { type DeliveryRules, planDeliveries, type RequestedDelivery, type SendRequest } from '../../../src/domain/notification.js'
import { MAX_WAIT_MINUTES, type SequenceStep, stepConditions, turnsOf } from '../../../src/domain/send/sequence.js'
import fc from '../../support/generated.js'

const step = (channel: Channel, waitMinutes: number, condition: SequenceStep['condition']): SequenceStep => ({
  channel,
  waitMinutes,
  condition,
})
const all = new Set(channels)

const stepsOf = fc.shuffledSubarray([...channels]).chain(order =>
  fc.tuple(
    ...order.map(channel =>
      fc.record({
        channel: fc.constant(channel),
        waitMinutes: fc.integer({ min: 0, max: MAX_WAIT_MINUTES }),
        condition: fc.constantFrom(...stepConditions),
      }),
    ),
  ),
)
const askedOf = fc.shuffledSubarray([...channels]).map(list => new Set(list))

describe('turns of a sequence', () => {
  test('each step waits for those before it, under its own condition', () => {
    const sequence = [step('email', 0, 'always'), step('sms', 60, 'not delivered'), step('letter', 1440, 'not read')]
    expect([...turnsOf(sequence, all)]).toEqual([
      ['email', { step: 1, waitMinutes: 0, condition: 'always' }],
      ['sms', { step: 2, waitMinutes: 60, condition: 'not delivered' }],
      ['letter', { step: 3, waitMinutes: 1500, condition: 'not read' }],
    ])
  })

  test('the first asked step goes at once and unconditionally, whatever the sequence says of it', () => {
    const sequence = [step('email', 0, 'always'), step('whatsapp', 30, 'failed'), step('voice', 10, 'not confirmed')]
    expect([...turnsOf(sequence, new Set(['whatsapp', 'voice']))]).toEqual([
      ['whatsapp', { step: 1, waitMinutes: 0, condition: 'always' }],
      ['voice', { step: 2, waitMinutes: 10, condition: 'not confirmed' }],
    ])
    expect([...turnsOf([step('sms', 15, 'failed')], all)]).toEqual([['sms', { step: 1, waitMinutes: 0, condition: 'always' }]])
  })

  test('a channel that was not asked for has no turn and takes no place', () => {
    const sequence = [step('email', 0, 'always'), step('sms', 60, 'failed'), step('letter', 5, 'failed')]
    expect([...turnsOf(sequence, new Set(['email', 'letter']))]).toEqual([
      ['email', { step: 1, waitMinutes: 0, condition: 'always' }],
      ['letter', { step: 2, waitMinutes: 5, condition: 'failed' }],
    ])
    expect(turnsOf(sequence, new Set()).size).toBe(0)
    expect(turnsOf([], all).size).toBe(0)
  })

  test('places are 1, 2, 3 … in the order of the sequence, and no later step is due before an earlier one', () => {
    fc.assert(
      fc.property(stepsOf, askedOf, (sequence, asked) => {
        const turns = [...turnsOf(sequence, asked)]
        expect(turns.map(([channel]) => channel)).toEqual(sequence.map(({ channel }) => channel).filter(c => asked.has(c)))
        expect(turns.map(([, turn]) => turn.step)).toEqual(turns.map((_, index) => index + 1))
        const waits = turns.map(([, turn]) => turn.waitMinutes)
        expect(waits).toEqual([...waits].sort((a, b) => a - b))
        if (turns.length > 0) expect(turns[0]![1]).toEqual({ step: 1, waitMinutes: 0, condition: 'always' })
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('planned deliveries', () => {
  const number = '+5511987654321'
  const requested: RequestedDelivery[] = [
    { channel: 'email', recipient: 'maria@example.com', request: {}, template: null, turn: 'sequence' },
    { channel: 'sms', recipient: number, request: { always: false, customMessage: 'Oi' }, template: null, turn: 'sequence' },
    {
      channel: 'whatsapp',
      recipient: number,
      request: { template: 'aviso', variables: { nome: 'Maria' } },
      template: 'aviso',
      turn: 'sequence',
    },
    {
      channel: 'voice',
      recipient: number,
      request: { template: 'ligacao', payload: { nome: 'Maria' } },
      template: 'ligacao',
      turn: 'sequence',
    },
    {
      channel: 'letter',
      recipient: 'Maria',
      request: { model: 'simples', template: 'carta', variables: { nome: 'Maria' } },
      template: 'carta',
      turn: 'sequence',
    },
  ]
  const complete: SendRequest = {
    recipientName: 'Maria',
    subject: 'Aviso',
    content: '<p>Aviso</p>',
    customId: null,
    sendAt: null,
    attachments: [],
    validation: null,
    deliveries: requested,
  }
  const always = requested.map(delivery => (delivery.channel === 'sms' ? { ...delivery, turn: 'immediate' as const } : delivery))
  const only = (...wanted: string[]): RequestedDelivery[] => requested.filter(({ channel }) => wanted.includes(channel))
  const rulesOf = (sequence: SequenceStep[] | null, settings: StoredSettings = {}): DeliveryRules => ({
    sequence,
    settings: completeSettings(settings),
    revision: 1,
  })
  const plan = (deliveries: RequestedDelivery[], sequence: SequenceStep[] | null = null, settings: StoredSettings = {}) =>
    planDeliveries({ ...complete, deliveries }, rulesOf(sequence, settings), new Map(), moduleOf).map(
      ({ channel, state, waitMs, step, condition }) => [channel, state, waitMs / 60_000, step, condition],
    )

  test('2.3 without a sequence all go at once, but an SMS of type 1 waits for the e-mail', () => {
    expect(plan(requested)).toEqual([
      ['email', 'queued', 0, 1, 'always'],
      ['sms', 'waiting', 30, -1, 'not delivered'],
      ['whatsapp', 'queued', 0, 0, 'always'],
      ['voice', 'queued', 0, 0, 'always'],
      ['letter', 'queued', 0, 0, 'always'],
    ])
    expect(plan(only('email', 'sms'), null, { 'fallback.minutes': 7 })[1]).toEqual(['sms', 'waiting', 7, -1, 'not delivered'])
  })

  test('2.3 an SMS of type 1 without an e-mail goes at once', () => {
    expect(plan(only('sms'))).toEqual([['sms', 'queued', 0, 0, 'always']])
  })

  test('2.3 an SMS of type 2 goes at once, with and without a sequence that names it', () => {
    const sequence = [step('email', 0, 'always'), step('sms', 60, 'not read'), step('voice', 5, 'failed')]
    for (const given of [null, sequence]) expect(plan(always, given)[1]).toEqual(['sms', 'queued', 0, 0, 'always'])
    // Its place is not taken: the step after it follows the one before.
    expect(plan(always, sequence)[3]).toEqual(['voice', 'waiting', 5, 2, 'failed'])
  })

  test('a sequence orders the asked channels that it names; the others go at once', () => {
    const sequence = [step('whatsapp', 0, 'always'), step('email', 30, 'not read'), step('sms', 60, 'always')]
    expect(plan(requested, sequence)).toEqual([
      ['email', 'waiting', 30, 2, 'not read'],
      ['sms', 'waiting', 90, 3, 'always'],
      ['whatsapp', 'queued', 0, 1, 'always'],
      ['voice', 'queued', 0, 0, 'always'],
      ['letter', 'queued', 0, 0, 'always'],
    ])
  })

  test('2.3 an SMS of type 1 still waits for the e-mail under a sequence that does not name SMS', () => {
    const sequence = [step('email', 0, 'always'), step('letter', 60, 'not read')]
    expect(plan(requested, sequence)[1]).toEqual(['sms', 'waiting', 30, -1, 'not delivered'])
    const later = [step('whatsapp', 0, 'always'), step('email', 45, 'not read')]
    expect(plan(requested, later)[1]).toEqual(['sms', 'waiting', 75, -1, 'not delivered'])
    expect(plan(requested, [step('letter', 0, 'always')])[1]).toEqual(['sms', 'waiting', 30, -1, 'not delivered'])
    expect(plan(requested.slice(1), sequence)[0]).toEqual(['sms', 'queued', 0, 0, 'always'])
  })

  test('2.3 an explicit type 1 waits for the e-mail whatever the sequence says of SMS; an absent one follows the sequence', () => {
    const explicit = requested.map(delivery =>
      delivery.channel === 'sms' ? { ...delivery, turn: 'fallback' as const } : delivery,
    )
    const sequence = [step('sms', 0, 'always'), step('email', 10, 'not read'), step('voice', 5, 'failed')]
    expect(plan(requested, sequence)[1]).toEqual(['sms', 'queued', 0, 1, 'always'])
    expect(plan(explicit, sequence)).toEqual([
      ['email', 'queued', 0, 1, 'always'],
      ['sms', 'waiting', 30, -1, 'not delivered'],
      ['whatsapp', 'queued', 0, 0, 'always'],
      ['voice', 'waiting', 5, 2, 'failed'],
      ['letter', 'queued', 0, 0, 'always'],
    ])
    // Without an e-mail the e-mail counts as not sent.
    expect(plan(explicit.slice(1), sequence)[0]).toEqual(['sms', 'queued', 0, 0, 'always'])
  })

  test('channels that were not asked for are not planned, and each delivery keeps what was asked of it', () => {
    expect(plan(only('letter'))).toEqual([['letter', 'queued', 0, 0, 'always']])
    const template = { id: '0198a0b2-0000-7000-8000-000000000001', version: 3 }
    const planned = planDeliveries(complete, rulesOf(null), new Map([['letter', template]]), moduleOf)
    expect(planned.map(({ channel, recipient, request, template }) => [channel, recipient, request, template])).toEqual([
      ['email', 'maria@example.com', {}, null],
      ['sms', number, { always: false, customMessage: 'Oi' }, null],
      ['whatsapp', number, { template: 'aviso', variables: { nome: 'Maria' } }, null],
      ['voice', number, { template: 'ligacao', payload: { nome: 'Maria' } }, null],
      ['letter', 'Maria', { model: 'simples', template: 'carta', variables: { nome: 'Maria' } }, template],
    ])
  })
})
