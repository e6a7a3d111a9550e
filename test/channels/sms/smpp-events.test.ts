import { describe, expect, test } from 'vitest'
import { carrierReference, readEvents } from '../../../src/channels/sms/smpp-events.js'
import { tags } from '../../../src/channels/sms/smpp-pdu.js'

interface Given {
  source?: string
  to?: string
  esmClass?: number
  dataCoding?: number
  message?: string | Buffer
  tlvs?: [number, Buffer][]
}

/** A deliver_sm body, put together by hand as the specification has it. */
function body({ source = '5511987654321', to = '29000', esmClass = 4, dataCoding = 0, message = '', tlvs = [] }: Given): Buffer {
  const text = (value: string): Buffer => Buffer.from(`${value}\0`)
  const short = typeof message === 'string' ? Buffer.from(message, 'latin1') : message
  return Buffer.concat([
    text(''),
    Buffer.from([1, 1]),
    text(source),
    Buffer.from([0, 0]),
    text(to),
    Buffer.from([esmClass, 0, 0]),
    text(''),
    text(''),
    Buffer.from([0, 0, dataCoding, 0, short.length]),
    short,
    ...tlvs.flatMap(([tag, value]) => [Buffer.from([tag >> 8, tag & 255, value.length >> 8, value.length & 255]), value]),
  ])
}

const receipt = (id: string, stat: string, err = '000'): string =>
  `id:${id} sub:001 dlvrd:001 submit date:2611151200 done date:2611151201 stat:${stat} err:${err} text:Aviso`

describe('receipts', () => {
  test.each([
    ['DELIVRD', 'delivered'],
    ['EXPIRED', 'failed'],
    ['DELETED', 'failed'],
    ['UNDELIV', 'failed'],
    ['REJECTD', 'failed'],
    ['ENROUTE', 'sent'],
    ['ACCEPTD', 'sent'],
    ['UNKNOWN', 'note'],
    ['WHATEVER', 'note'],
    ['DELIVERED', 'delivered'],
    ['UNDELIVERABLE', 'failed'],
    ['UNDELIVERED', 'failed'],
    ['FAILED', 'failed'],
    ['REJECTED', 'failed'],
  ])('by text, %s: %s', (stat, type) => {
    const [events] = readEvents(body({ message: receipt('7A', stat) }))
    expect(events).toMatchObject({ kind: 'report', type, answer: `id:7A stat:${stat} err:000` })
    if (type === 'failed') expect(events).toMatchObject({ failure: 'undelivered', reason: expect.stringMatching(/\.$/) })
  })

  test.each([
    [1, 'sent'],
    [2, 'delivered'],
    [3, 'failed'],
    [4, 'failed'],
    [5, 'failed'],
    [6, 'sent'],
    [7, 'note'],
    [8, 'failed'],
  ])('by TLV alone, message_state %d: %s', (state, type) => {
    const tlvs: [number, Buffer][] = [
      [tags.receiptedMessageId, Buffer.from('abc-1\0')],
      [tags.messageState, Buffer.from([state])],
    ]
    expect(readEvents(body({ tlvs }))[0]).toMatchObject({
      type,
      of: { carrier: expect.arrayContaining([carrierReference('abc-1', '+5511987654321')]) },
    })
  })

  test('an intermediate notification proves that the carrier has the message, and stays in the timeline as a note', () => {
    expect(readEvents(body({ esmClass: 0x20, message: receipt('1', 'ENROUTE') }))).toMatchObject([
      { type: 'sent' },
      { type: 'note' },
    ])
  })

  test.each(['UNDELIV', 'EXPIRED', 'DELETED', 'REJECTD'])(
    'an intermediate notification with %s is not the end: the carrier has the message and goes on trying',
    stat => {
      const answer = `id:1 stat:${stat} err:011`
      const events = readEvents(body({ esmClass: 0x20, message: receipt('1', stat, '011') }))
      expect(events).toMatchObject([
        { type: 'sent', answer },
        { type: 'note', answer },
      ])
      for (const event of events) expect(event).not.toHaveProperty('failure')
    },
  )

  test('an intermediate notification that the message arrived counts', () => {
    expect(readEvents(body({ esmClass: 0x20, message: receipt('1', 'DELIVRD') }))).toMatchObject([{ type: 'delivered' }])
  })

  test('an id of any length is cut where it is stored and where it is looked for', () => {
    const id = 'f'.repeat(300)
    const [report] = readEvents(body({ message: receipt('x'.repeat(90), 'DELIVRD') }))
    expect(report).toMatchObject({
      of: { carrier: expect.arrayContaining([carrierReference('x'.repeat(90), '+5511987654321')]) },
    })
    const tlvs: [number, Buffer][] = [
      [tags.receiptedMessageId, Buffer.from(id)],
      [tags.messageState, Buffer.from([2])],
    ]
    const [long] = readEvents(body({ tlvs })) as unknown as { of: { carrier: string[] } }[]
    expect(long!.of.carrier).toContain(carrierReference(id, '+5511987654321'))
    expect(Math.max(...long!.of.carrier.map(({ length }) => length))).toBeLessThan(200)
  })

  test('the carrier’s code is in the reason', () => {
    expect(readEvents(body({ message: receipt('1', 'UNDELIV', '045') }))).toMatchObject([
      { reason: expect.stringContaining('Código da operadora: 045.') },
    ])
  })

  test('ids in hexadecimal and in decimal name the same message, the way it is written first', () => {
    const names = (id: string): readonly string[] =>
      (readEvents(body({ message: receipt(id, 'DELIVRD') }))[0] as unknown as { of: { carrier: string[] } }).of.carrier
    const stored = carrierReference('1A2B3C', '+5511987654321')
    expect(names('1715004')).toContain(stored)
    expect(names('001a2b3c')[0]).toBe(stored)
    expect(names('255')[0]).toBe(carrierReference('255', '+5511987654321'))
  })

  test('an id in the wrong base never names a message to another number', () => {
    const names = (readEvents(body({ message: receipt('16', 'DELIVRD') }))[0] as unknown as { of: { carrier: string[] } }).of
      .carrier
    expect(names).not.toContain(carrierReference('10', '+5511900001111'))
  })

  test('return our reference tag with the recipient’s number', () => {
    const tlvs: [number, Buffer][] = [[tags.userMessageReference, Buffer.from([0x12, 0x34])]]
    expect(readEvents(body({ message: receipt('1', 'DELIVRD'), tlvs }))).toMatchObject([
      { of: { tag: { recipient: '+5511987654321', bits: 0x1234 } } },
    ])
  })

  test('name the message in ASCII, whatever the alphabet of the text', () => {
    const stored = carrierReference('abc_1@$', '+5511987654321')
    const [text, wide] = [receipt('abc_1@$', 'DELIVRD'), Buffer.from(receipt('abc_1@$', 'DELIVRD'), 'utf16le').swap16()]
    for (const given of [
      { message: text },
      { message: text, dataCoding: 3 },
      { message: text, dataCoding: 8 },
      { message: wide, dataCoding: 8 },
    ])
      expect(readEvents(body(given))).toMatchObject([
        { kind: 'report', type: 'delivered', of: { carrier: expect.arrayContaining([stored]) } },
      ])
  })

  test('without their message type are recognised by their TLV or their text', () => {
    const tlvs: [number, Buffer][] = [
      [tags.receiptedMessageId, Buffer.from('abc-1\0')],
      [tags.messageState, Buffer.from([2])],
    ]
    expect(readEvents(body({ esmClass: 0, tlvs }))).toMatchObject([{ kind: 'report', type: 'delivered' }])
    for (const message of [receipt('7A', 'UNDELIV'), 'id:7A stat:UNDELIV err:001'])
      expect(readEvents(body({ esmClass: 0, message }))).toMatchObject([{ kind: 'report', type: 'failed' }])
  })

  test('without an id are ignored', () => {
    expect(readEvents(body({ message: 'hello' }))).toEqual([])
  })
})

describe('answers', () => {
  const answer = (given: Given) => readEvents(body({ esmClass: 0, ...given }))[0]

  test('in GSM-7, Latin-1 and UCS-2', () => {
    expect(answer({ message: Buffer.from([0x41, 0x00, 0x1b, 0x65]) })).toMatchObject({ text: 'A@€' })
    expect(answer({ dataCoding: 3, message: 'Não' })).toMatchObject({ text: 'Não' })
    expect(answer({ dataCoding: 8, message: Buffer.from('Não 😀', 'utf16le').swap16() })).toMatchObject({ text: 'Não 😀' })
  })

  test('come from the number as E.164, however the carrier writes it', () => {
    for (const source of ['5511987654321', '+5511987654321', '11987654321', '551187654321'])
      expect(answer({ source, message: 'Ok' })).toMatchObject({ kind: 'reply', from: ['+5511987654321'] })
  })

  test('that only look like receipts', () => {
    for (const message of ['id: 7A?', 'Qual o stat:DELIVRD', 'O id:7A stat:DELIVRD chegou', 'id:7A stat: ?'])
      expect(answer({ message })).toMatchObject({ kind: 'reply' })
  })

  test('in message_payload', () => {
    expect(answer({ tlvs: [[tags.messagePayload, Buffer.from('Ok')]] })).toMatchObject({ text: 'Ok' })
  })

  test('in parts keep the halves of a character that is split between two of them', () => {
    const written = Buffer.from('Sim 👍 ok', 'utf16le').swap16()
    const piece = (number: number, bytes: Buffer) =>
      readEvents(
        body({ esmClass: 0x40, dataCoding: 8, message: Buffer.concat([Buffer.from([5, 0, 3, 9, 2, number]), bytes]) }),
      )[0]
    const [high, low] = ['👍'.charCodeAt(0), '👍'.charCodeAt(1)]
    expect(piece(1, written.subarray(0, 10))).toMatchObject({ text: 'Sim ', part: { number: 1, halves: { after: high } } })
    expect(piece(2, written.subarray(10))).toMatchObject({ text: ' ok', part: { number: 2, halves: { before: low } } })
    expect(piece(1, written.subarray(0, 12))).toMatchObject({
      text: 'Sim 👍',
      part: { of: expect.any(String), number: 1, total: 2 },
    })
  })

  test('in parts, by short header, long header or TLVs', () => {
    const head = (...bytes: number[]) => ({ esmClass: 0x40, message: Buffer.from([bytes.length, ...bytes, 0x41]) })
    expect(answer(head(0, 3, 9, 2, 1))).toMatchObject({ text: 'A', part: { number: 1, total: 2 } })
    expect(answer(head(8, 4, 9, 9, 3, 2))).toMatchObject({ part: { number: 2, total: 3 } })
    expect(answer(head(5, 4, 1, 1, 1, 1, 0, 3, 9, 2, 2))).toMatchObject({ part: { number: 2, total: 2 } })
    const tlvs: [number, Buffer][] = [
      [tags.sarReference, Buffer.from([0, 7])],
      [tags.sarTotal, Buffer.from([2])],
      [tags.sarNumber, Buffer.from([1])],
    ]
    expect(answer({ message: 'A', tlvs })).toMatchObject({ part: { number: 1, total: 2 } })
    expect(answer(head(0, 3, 9, 1, 1))).not.toHaveProperty('part')
    expect(answer(head(0, 3, 9, 2, 5))).not.toHaveProperty('part')
  })

  test('that end too early are refused as a whole', () => {
    expect(() => readEvents(body({ message: 'hello' }).subarray(0, 20))).toThrow(/ends too early/)
  })
})
