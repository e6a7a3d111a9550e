import { describe, expect, test } from 'vitest'
import { moduleOf } from '../../../src/channels/registry.js'
import { type DeliveryStatus, newStatus } from '../../../src/domain/delivery/status.js'
import { type Fact, weighFact } from '../../../src/domain/delivery/transition.js'
import { applyFact } from '../../support/statuses.js'

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

describe('a message in three parts of which nobody knows whether it was sent', () => {
  const part = (type: Fact['type'], minute: number, number: number, more: Fact['data'] = {}): Fact =>
    fact(type, minute, { ordinal: 1, part: number, parts: 3, carrier: 'smpp', ...more })
  const unknown = (minute: number, ...parts: number[]): Fact =>
    fact('uncertain', minute, { carrier: 'smpp', ...(parts.length === 0 ? {} : { taken: { parts, total: 3 } }) })

  test.each(['sent', 'delivered'] as const)('one part that was %s only marks itself; all of them settle it', type => {
    const one = sum(unknown(1), part(type, 2, 1))
    expect(one).toMatchObject({ state: 'uncertain', sentAt: null, taken: { by: 'smpp', parts: [1], total: 3 } })
    expect(applyFact(one, part(type, 3, 1))).toBeNull()
    const all = sum(unknown(1), part(type, 2, 1), part(type, 3, 3), part(type, 4, 2))
    expect(all).toMatchObject({ state: 'done', sentAt: at(4), taken: null, deliveredAt: type === 'sent' ? null : at(4) })
  })

  test('what was answered in time counts with what is told later', () => {
    const known = sum(unknown(1, 1, 3))
    expect(known).toMatchObject({ state: 'uncertain', unknownCount: 1, taken: { parts: [1, 3], total: 3 } })
    expect(applyFact(known, part('delivered', 2, 1))).toMatchObject({ state: 'uncertain', parts: [1] })
    expect(applyFact(known, part('delivered', 2, 2))).toMatchObject({
      state: 'done',
      sentAt: at(2),
      parts: [2],
      deliveredAt: null,
    })
  })

  test('its parts stay known while it is sent again, and a second unknown outcome adds to them', () => {
    const again = sum(unknown(1, 1), fact('retried', 2, { carrier: 'smpp' }))
    expect(again).toMatchObject({ state: 'queued', taken: { parts: [1] } })
    expect(applyFact(again, unknown(3, 3))).toMatchObject({ state: 'uncertain', unknownCount: 2, taken: { parts: [1, 3] } })
    expect(applyFact(again, fact('sent', 3, { carrier: 'smpp', segments: 3 }))).toMatchObject({ state: 'done', taken: null })
  })

  test('what one carrier delivered of it does not complete what another sent whole', () => {
    const torn = sum(unknown(1), part('delivered', 2, 1), fact('retried', 3))
    expect(applyFact(torn, fact('sent', 4, { carrier: 'smpp', segments: 3 }))).toMatchObject({ parts: [1] })
    expect(applyFact(torn, fact('sent', 4, { carrier: 'another', segments: 3 }))).toMatchObject({ parts: [] })
    expect(applyFact(torn, fact('sent', 4, { carrier: 'smpp', segments: 2 }))).toMatchObject({ parts: [] })
    const whole = applyFact(torn, fact('sent', 4, { carrier: 'another' }))!
    expect(applyFact(whole, fact('delivered', 5, { ordinal: 1, carrier: 'another' }))).toMatchObject({ deliveredAt: at(5) })
  })

  test('a person who has it sent anew after it gave up begins with none', () => {
    const dead = sum(unknown(1, 1), fact('retried', 2), fact('failed', 3, { failure: 'rejected', dead: true }))
    expect(applyFact(dead, fact('revived', 4))).toMatchObject({ state: 'queued', ordinal: 2, parts: [], taken: null })
  })
})

describe('a refusal', () => {
  const rejected = sum(fact('failed', 1, { failure: 'rejected' }))
  const proof = fact('delivered', 2, { ordinal: 1 })

  test.each(['sent', 'processed', 'delivered', 'read', 'confirmed'] as const)('is undone when the same message was %s', type => {
    expect(applyFact(rejected, fact(type, 2, { ordinal: 1 }))).toMatchObject({
      failure: null,
      failureDetail: null,
      failedAt: null,
      state: 'done',
    })
  })

  test('of another kind stays: a message that bounced had been taken', () => {
    const bounced = sum(fact('sent', 1), fact('failed', 2, { failure: 'bounced' }))
    expect(applyFact(bounced, proof)).toMatchObject({ failure: 'bounced', deliveredAt: at(2) })
  })

  test('is not taken back by one part, nor by an earlier message', () => {
    const part = fact('delivered', 2, { ordinal: 1, part: 1, parts: 2 })
    expect(applyFact(rejected, part)).toMatchObject({ failure: 'rejected' })
    expect(applyFact({ ...rejected, ordinal: 2 }, proof)).toMatchObject({ failure: 'rejected', deliveredAt: at(2) })
  })
})

describe('a loss on the way', () => {
  const lost = sum(fact('sent', 1), fact('failed', 2, { failure: 'undelivered', ordinal: 1 }))

  test.each(['delivered', 'read', 'confirmed'] as const)('is undone when the same message was %s', type => {
    expect(applyFact(lost, fact(type, 3, { ordinal: 1 }))).toMatchObject({ failure: null, failedAt: null, deliveredAt: at(3) })
  })

  test('is not taken back by one part, nor by an earlier message, nor by a late word that the message was taken', () => {
    expect(applyFact(lost, fact('delivered', 3, { ordinal: 1, part: 1, parts: 2 }))).toMatchObject({ failure: 'undelivered' })
    expect(applyFact({ ...lost, ordinal: 2 }, fact('delivered', 3, { ordinal: 1 }))).toMatchObject({ failure: 'undelivered' })
    expect(applyFact(lost, fact('sent', 3, { ordinal: 1 }))).toBeNull()
  })
})

describe('a message that was sent once more while nobody knew whether the first copy had left', () => {
  const twice = sum(fact('uncertain', 1), fact('retried', 2), fact('sent', 3))
  const failed = (data: Fact['data'] = {}): Fact => fact('failed', 5, { failure: 'undelivered', ordinal: 1, ...data })

  test.each([
    ['waits for its turn', sum(fact('uncertain', 1), fact('retried', 2))],
    ['was sent again by a person', sum(fact('uncertain', 1), fact('unresolved', 2), fact('revived', 3))],
    ['was taken', twice],
    ['has an unknown outcome too', sum(fact('uncertain', 1), fact('retried', 2), fact('uncertain', 3))],
  ])('does not fail with a copy that bears the same tag: it %s', (_, status) => {
    expect(applyFact(status, failed({ tagged: true }))).toBe(status)
    expect(weighFact(status, failed({ tagged: true }), moduleOf('voice'))).toMatchObject({
      type: 'note',
      data: { claimed: 'failed', because: 'another copy' },
    })
    expect(applyFact(status, failed())).toMatchObject({ failure: 'undelivered' })
  })

  test('is not followed by another message because of a copy that bears the same tag', () => {
    const again = (data: Fact['data']): Fact => fact('again', 5, { ordinal: 1, ...data })
    expect(applyFact(twice, again({ tagged: true }))).toBe(twice)
    expect(weighFact(twice, again({ tagged: true }), moduleOf('voice'))).toMatchObject({
      type: 'note',
      data: { claimed: 'again', because: 'another copy' },
    })
    expect(applyFact(twice, again({}))).toMatchObject({ state: 'queued', ordinal: 2 })
  })

  test('does not fail once a copy has arrived', () => {
    const arrived = applyFact(twice, fact('delivered', 4, { ordinal: 1, tagged: true }))!
    expect(applyFact(arrived, failed())).toBe(arrived)
    expect(weighFact(arrived, failed(), moduleOf('voice'))).toMatchObject({ data: { because: 'delivered before' } })
  })

  test('fails by its tag where there was no second copy', () => {
    const once = sum(fact('uncertain', 1), fact('sent', 2, { ordinal: 1, tagged: true }))
    for (const status of [once, sum(fact('uncertain', 1)), sum(fact('uncertain', 1), fact('retried', 2, { notTaken: true }))])
      expect(applyFact(status, failed({ tagged: true }))).toMatchObject({ failure: 'undelivered' })
  })
})

describe('the count of unknown outcomes', () => {
  const unknown = sum(fact('uncertain', 1))

  test('starts again with a new message', () => {
    expect(unknown).toMatchObject({ unknownCount: 1 })
    expect(applyFact(unknown, fact('again', 2, { ordinal: 1 }))).toMatchObject({ ordinal: 2, unknownCount: 0 })
    const dead = sum(fact('uncertain', 1), fact('failed', 2, { failure: 'rejected', dead: true }))
    expect(applyFact(dead, fact('revived', 3))).toMatchObject({ ordinal: 2, unknownCount: 0 })
  })

  test('is reset when the carrier never took the message, and stays when an attempt is only repeated', () => {
    expect(applyFact(unknown, fact('retried', 2, { notTaken: true }))).toMatchObject({ state: 'queued', unknownCount: 0 })
    expect(applyFact(unknown, fact('retried', 2))).toMatchObject({ state: 'queued', unknownCount: 1 })
    expect(applyFact(begin(), fact('retried', 2, { interrupted: true }))).toMatchObject({ state: 'queued', unknownCount: 1 })
  })
})

describe('an unknown outcome that only a person can find out', () => {
  const unresolved = sum(fact('uncertain', 1), fact('unresolved', 2))

  test('is a state of its own, which only an unknown outcome reaches', () => {
    expect(unresolved).toMatchObject({ state: 'unresolved', unknownCount: 1 })
    expect(applyFact(unresolved, fact('unresolved', 3))).toBeNull()
    expect(applyFact(begin(), fact('unresolved', 1))).toBeNull()
  })

  test.each(['sent', 'processed', 'delivered', 'read'] as const)('is resolved by a late word that it was %s', type => {
    expect(applyFact(unresolved, fact(type, 3, { ordinal: 1 }))).toMatchObject({ state: 'done' })
  })

  test('is resolved by a person: it failed, or it goes again under the same reference', () => {
    expect(applyFact(unresolved, fact('failed', 3, { failure: 'rejected' }))).toMatchObject({
      state: 'done',
      failure: 'rejected',
    })
    expect(applyFact(unresolved, fact('revived', 3))).toMatchObject({ state: 'queued', ordinal: 1 })
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
    expect(recorded).toMatchObject({ recording: 'aa', trackingCode: null, state: 'done', sentAt: at(1) })
    expect(applyFact(recorded, fact('recorded', 2, { recording: 'aa', ordinal: 1 }))).toBeNull()
    expect(applyFact(recorded, fact('recorded', 2, { recording: 'bb', ordinal: 1 }))).toMatchObject({ recording: 'bb' })
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

describe('what contradicts the recipient', () => {
  const email = (type: Fact['type'], minute: number, data: Fact['data'] = {}): Fact => ({
    ...fact(type, minute, data),
    channel: 'email',
  })
  const statusAfter = (...facts: Fact[]): DeliveryStatus =>
    facts.reduce((status, next) => applyFact(status, next) ?? status, newStatus('email', 'sending', at(0)))

  test.each(['read', 'confirmed'] as const)('a failure after the message was %s changes nothing', type => {
    const status = statusAfter(email('sent', 1), email(type, 2))
    for (const failure of ['bounced', 'undelivered', 'rejected', 'returned'] as const)
      expect(applyFact(status, email('failed', 3, { failure, ordinal: 1 }))).toBe(status)
  })

  test('is a note that says what it claims and why it does not count', () => {
    const status = statusAfter(email('sent', 1), email('confirmed', 2))
    expect(weighFact(status, email('failed', 3, { failure: 'bounced' }), moduleOf('email'))).toMatchObject({
      type: 'note',
      data: { failure: 'bounced', claimed: 'failed', because: 'confirmed before' },
    })
  })

  test('a person who read may still say that they are somebody else; one who confirmed may not', () => {
    const stranger = email('failed', 3, { failure: 'stranger' })
    expect(applyFact(statusAfter(email('read', 2)), stranger)).toMatchObject({ failure: 'stranger' })
    const confirmed = statusAfter(email('confirmed', 2))
    expect(applyFact(confirmed, stranger)).toBe(confirmed)
  })

  test('a bounce after the delivery, without a reading, counts', () => {
    expect(applyFact(statusAfter(email('delivered', 2)), email('failed', 3, { failure: 'bounced' }))).toMatchObject({
      failure: 'bounced',
    })
  })
})

describe('a message that is read where it is delivered', () => {
  const letter = (type: Fact['type'], minute: number): Fact => ({ ...fact(type, minute), channel: 'letter' })
  const statusAfter = (...facts: Fact[]): DeliveryStatus =>
    facts.reduce((status, next) => applyFact(status, next) ?? status, newStatus('letter', 'sending', at(0)))

  test.each(['read', 'confirmed'] as const)('cannot be %s before', type => {
    for (const before of [statusAfter(), statusAfter(letter('sent', 1)), statusAfter(letter('sent', 1), letter('failed', 2))]) {
      expect(applyFact(before, letter(type, 3))).toBe(before)
      expect(weighFact(before, letter(type, 3), moduleOf('letter'))).toMatchObject({
        type: 'note',
        data: { claimed: type, because: 'not delivered' },
      })
    }
    expect(applyFact(statusAfter(letter('delivered', 2)), letter(type, 3))).toMatchObject({ readAt: at(3) })
  })
})

describe('a message that is produced first', () => {
  const told = (type: Fact['type'], written: number, happened: number): Fact => ({
    ...fact(type, written, { ordinal: 1, occurredAt: at(happened).toISOString() }),
    channel: 'letter',
  })
  const statusAfter = (...facts: Fact[]): DeliveryStatus =>
    facts.reduce((status, next) => applyFact(status, next) ?? status, newStatus('letter', 'sending', at(0)))

  test('has the date of its sending from a report that comes after the one of its delivery', () => {
    const delivered = statusAfter(told('processed', 1, 1), told('delivered', 9, 8))
    expect(delivered).toMatchObject({ sentAt: at(8), preparedAt: at(8), deliveredAt: at(8) })
    const sent = applyFact(delivered, told('sent', 9, 5))
    expect(sent).toMatchObject({ processedAt: at(1), preparedAt: at(5), sentAt: at(5), deliveredAt: at(8), state: 'done' })
    expect(applyFact(sent!, told('sent', 9, 4))).toBeNull()
  })

  test('keeps the date of its delivery as that of its sending where the report names no earlier one', () => {
    const delivered = statusAfter(told('delivered', 9, 8))
    expect(applyFact(delivered, told('sent', 9, 8))).toBeNull()
    expect(applyFact(delivered, { ...fact('sent', 9, { ordinal: 1 }), channel: 'letter' })).toBeNull()
  })

  test('was not sent before it was processed, whatever the report says', () => {
    const delivered = statusAfter(told('processed', 3, 3), told('delivered', 9, 8))
    expect(applyFact(delivered, told('sent', 9, 2))).toMatchObject({ sentAt: at(3), deliveredAt: at(8) })
  })
})
