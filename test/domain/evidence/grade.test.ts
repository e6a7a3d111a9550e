import { expect, inject, test } from 'vitest'
import { seeded } from '../../../simulator/random.js'
import type { Json } from '../../../src/domain/evidence/canonical-json.js'
import {
  type GradeContext,
  type GradedEvent,
  gradeContext,
  gradeLabels,
  gradeOf,
  gradeWords,
  isRecipientsAct,
  isSimulated,
  labelSignal,
} from '../../../src/domain/evidence/grade.js'
import { robotSignals } from '../../../src/domain/recipient/robot.js'

const SENDER = '203.0.113.7'
const ELSEWHERE = '198.51.100.20'
const context: GradeContext = { senderAddress: SENDER, hasQuestion: false }
const asked: GradeContext = { ...context, hasQuestion: true }

const event = (type: string, source: string, data: GradedEvent['data'] = {}): GradedEvent => ({ type, source, data })
const visit = (by: string, more: Record<string, Json> = {}): Record<string, Json> => ({
  by,
  address: ELSEWHERE,
  userAgent: 'x',
  signals: [],
  ...more,
})
const carrier = 'smpp:smsc.example.com/1f0c2a9b'
const wordOf = (given: GradedEvent, within = context) => gradeOf(given, within).word

test.each([
  ['what was accepted', 'gateway', event('accepted', 'api', { address: SENDER })],
  ['the end that the sender ordered', 'sender', event('cancelled', 'api', { cancelReason: 'finalized' })],
  ['a decision of the sequence', 'gateway', event('released', 'sequence')],
  ['a step that is not needed', 'gateway', event('cancelled', 'sequence', { cancelReason: 'not needed' })],
  ['a step that waits again', 'gateway', event('reopened', 'sequence')],
  ['a worker that died', 'gateway', event('retried', 'engine', { carrier, interrupted: true })],
  ['an outcome that nobody knows', 'gateway', event('uncertain', 'engine', { carrier })],
  ['an outcome for a person', 'gateway', event('unresolved', carrier, { carrier, reason: 'x', answer: 'x' })],
  ['an operator’s decision', 'operator', event('sent', 'operator', { by: 'ana' })],
  ['an operator’s retry', 'operator', event('revived', 'operator', { by: 'ana' })],
  ['a message that the carrier took', 'carrier', event('sent', carrier, { carrier, answer: '250 ok' })],
  ['a message that it produces', 'carrier', event('processed', carrier, { carrier, answer: 'ok' })],
  ['a message that the recipient’s server took', 'carrier', event('delivered', carrier, { carrier, answer: '250 ok' })],
  ['a refusal of the carrier', 'carrier', event('failed', carrier, { carrier, answer: '550 no such user' })],
  ['a delay that the carrier asked for', 'carrier', event('retried', carrier, { carrier, answer: '451 later' })],
  ['an attempt without an answer', 'gateway', event('uncertain', carrier, { carrier, answer: 'uncertain: a conexão caiu' })],
  ['an attempt without a connection', 'gateway', event('retried', carrier, { carrier, answer: 'temporary: sem conexão' })],
  ['a message that could not be made', 'gateway', event('failed', carrier, { failure: 'validation' })],
  ['a report over the connection', 'carrier', event('delivered', `report:${carrier}`, { carrier, answer: 'DELIVRD' })],
  ['a signed report', 'signed carrier', event('delivered', 'report:twilio:x/1', { carrier, signed: true })],
  ['a signed report of a reading', 'signed carrier', event('read', 'report:whatsapp-cloud:x/1', { signed: true })],
  ['another message after a busy one', 'signed carrier', event('again', 'report:twilio:x/1', { signed: true })],
  ['a note of a carrier', 'carrier', event('note', `report:${carrier}`, { answer: 'ENROUTE' })],
  ['what was produced', 'carrier', event('prepared', 'report:print-shop:x/1', {})],
  ['tracking', 'carrier', event('delivered', 'report:correios', { carrier: 'correios' })],
  ['a bounce', 'carrier', event('failed', 'report:dsn', { failure: 'bounced' })],
  ['a bounce of another message', 'sender', event('note', 'report:dsn', { claimed: 'failed', because: 'another message' })],
  ['a complaint', 'carrier', event('note', 'report:complaint', { complaint: 'abuse' })],
  ['a reading receipt', 'device', event('read', 'report:mdn', { by: 'mdn', disposition: 'displayed', automated: false })],
  [
    'a reading receipt that nobody asked for',
    'sender',
    event('note', 'report:mdn', { claimed: 'read', because: 'not asked for' }),
  ],
  ['a reply by message', 'reply', event('answered', carrier, { answer: 'ok' })],
  ['a reply by mail', 'reply', event('answered', 'report:reply', { answer: 'ok' })],
  [
    'a reply from another address',
    'sender',
    event('note', 'report:reply', { claimed: 'answered', because: 'another recipient' }),
  ],
  ['something unreadable', 'sender', event('note', 'report:unreadable', { unreadable: true })],
  ['a forwarded reply', 'gateway', event('note', 'forward', { forwarded: true })],
  ['a recording', 'carrier', event('recorded', 'recording', { carrier, recording: 'ab' })],
  ['the image', 'device', event('read', 'recipient', visit('image'))],
  ['the page', 'device', event('note', 'recipient', visit('landing'))],
  ['the link', 'device', event('link opened', 'recipient', visit('open'))],
  ['the reading', 'device', event('read', 'recipient', visit('open'))],
  ['the confirmation', 'device', event('confirmed', 'recipient', visit('confirm'))],
  ['somebody else', 'device', event('failed', 'recipient', visit('not me', { failure: 'stranger' }))],
  ['an event of an unknown source', 'gateway', event('answered', 'something', {})],
] as const)('%s is the word of: %s', (_, word, given) => {
  expect(wordOf(given)).toBe(word)
})

test.each([
  ['the right answer', 'answer', event('read', 'recipient', visit('reply'))],
  ['a second right answer', 'answer', event('note', 'recipient', visit('reply'))],
  ['the confirmation after it', 'answer', event('confirmed', 'recipient', visit('confirm'))],
  ['an attachment after it', 'answer', event('note', 'recipient', visit('file'))],
  ['a wrong answer', 'device', event('note', 'recipient', visit('reply', { right: false }))],
  ['an answer while locked', 'device', event('note', 'recipient', visit('reply', { locked: true }))],
  ['the page before the question', 'device', event('note', 'recipient', visit('open'))],
  ['the image, which asks nothing', 'device', event('read', 'recipient', visit('image'))],
  ['"I am not this person", which asks nothing', 'device', event('failed', 'recipient', visit('not me'))],
] as const)('with a question: %s is the word of: %s', (_, word, given) => {
  expect(wordOf(given, asked)).toBe(word)
})

test('an access by a program bears its signals and is never the knowledge of an answer', () => {
  const signals = ['scanner', 'too soon']
  expect(gradeOf(event('note', 'recipient', visit('reply', { signals, automated: true })), asked)).toEqual({
    word: 'device',
    automated: signals,
  })
  expect(gradeOf(event('note', 'report:mdn', { automated: true }), context).automated).toEqual(['automatic receipt'])
  expect(gradeOf(event('note', 'report:automatic', { automated: true, reply: true }), context).automated).toEqual([
    'automatic reply',
  ])
  expect(gradeOf(event('read', 'recipient', visit('open')), context).automated).toBeNull()
})

test('the context comes from the first event; without it nothing is taken for the recipient’s', () => {
  expect(gradeContext(event('accepted', 'api', { address: SENDER }), true)).toEqual(asked)
  expect(gradeContext(event('accepted', 'api', null), false)).toEqual({ senderAddress: null, hasQuestion: false })
  expect(wordOf(event('confirmed', 'recipient', visit('confirm')), gradeContext(undefined, false))).toBe('sender')
})

test('an IPv6 address of the sender’s network is the sender’s', () => {
  const within = { senderAddress: '2001:db8:1:2::1', hasQuestion: false }
  expect(wordOf(event('read', 'recipient', visit('open', { address: '2001:db8:1:2:ffff::9' })), within)).toBe('sender')
  expect(wordOf(event('read', 'recipient', visit('open', { address: '2001:db8:1:3::9' })), within)).toBe('device')
})

test('simulated carriers are known by their name', () => {
  expect(isSimulated(event('sent', 'simulator/smpp'))).toBe(true)
  expect(isSimulated(event('delivered', 'report:simulator/smpp'))).toBe(true)
  expect(isSimulated(event('recorded', 'recording', { carrier: 'simulator/twilio' }))).toBe(true)
  expect(isSimulated(event('sent', carrier, { carrier }))).toBe(false)
})

test('every word and every signal has words for people', () => {
  for (const word of gradeWords) for (const text of Object.values(gradeLabels[word])) expect(text).not.toBe('')
  expect(new Set(gradeWords.map(word => gradeLabels[word].wire)).size).toBe(gradeWords.length)
  const signals = robotSignals({
    method: 'HEAD',
    userAgent: '',
    purpose: 'prefetch',
    sinceSentMs: null,
    form: { sincePageMs: null, trapped: true, steered: true, fetchMode: 'cors', language: undefined },
  })
  for (const signal of [...signals, 'scanner', 'prefetching proxy', 'too soon after the page', 'bare client'])
    expect(labelSignal(signal)).not.toBe(signal)
})

const STRENGTH = Object.fromEntries(
  gradeWords.map((word, place) => [word, word === 'device' || word === 'answer' || word === 'reply' ? place : 0]),
)

test('whatever happens, an act that the sender could have caused is never graded as the recipient’s', () => {
  const seed = inject('seed')
  const random = seeded(seed)
  const chance = (share: number): boolean => random() < share
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const types = ['note', 'read', 'confirmed', 'link opened', 'failed', 'answered', 'delivered', 'sent', 'cancelled', 'processed']
  const steps = ['landing', 'open', 'question', 'reply', 'message', 'confirm', 'receipt', 'not me', 'image', 'file']
  for (let round = 0; round < 5_000; round++) {
    const within: GradeContext = { senderAddress: pick([SENDER, '2001:db8:1:2::1', null]), hasQuestion: chance(0.5) }
    const address = pick([SENDER, ELSEWHERE, '2001:db8:1:2::77', '2001:db8:9::1', '', 'unix'])
    const signals = chance(0.3) ? ['scanner'] : []
    const flags = {
      ...(chance(0.3) ? { fromSender: true } : {}),
      ...(chance(0.2) ? { right: false } : {}),
      ...(chance(0.1) ? { locked: true } : {}),
    }
    const given = event(pick(types), 'recipient', visit(pick(steps), { address, signals, ...flags }))
    const grade = gradeOf(given, within)
    const say = JSON.stringify({ seed, within, given, grade })
    const mayBeSenders =
      'fromSender' in flags ||
      within.senderAddress === null ||
      address === within.senderAddress ||
      address === '' ||
      address === 'unix' ||
      (address === '2001:db8:1:2::77' && within.senderAddress === '2001:db8:1:2::1')
    if (mayBeSenders) expect(isRecipientsAct(grade), say).toBe(false)
    if (signals.length > 0) expect(grade.word === 'answer' || grade.automated === null, say).toBe(false)
    // Erasing the data, or adding to what is known against it, never makes more of an event.
    for (const weaker of [
      { ...given, data: null },
      { ...given, data: { ...given.data, fromSender: true } },
      { ...given, data: { ...given.data, signals: ['trap'] } },
    ])
      expect(STRENGTH[gradeOf(weaker, within).word]!, say).toBeLessThanOrEqual(STRENGTH[grade.word]!)
    // The API, the sequence and a note about somebody else's reply are never the recipient's.
    for (const source of ['api', 'sequence', 'engine', 'forward', 'operator'])
      expect(isRecipientsAct(gradeOf({ ...given, source }, within)), say).toBe(false)
    expect(
      isRecipientsAct(
        gradeOf(event('note', 'report:reply', { from: 'sender@example.com', because: 'another recipient' }), within),
      ),
      say,
    ).toBe(false)
  }
})
