import { describe, expect, onTestFinished, test } from 'vitest'
import type { Carrier, CarrierEvent, SendError } from '../../../src/channels/provider.js'
import { type SmppOptions, smpp, smppProvider } from '../../../src/channels/sms/smpp.js'
import { carrierReference } from '../../../src/channels/sms/smpp-events.js'
import { commands, RESPONSE, writePdu } from '../../../src/channels/sms/smpp-pdu.js'
import type { SmsMessage } from '../../../src/channels/sms/sms-message.js'
import { makeTag } from '../../../src/domain/delivery/reference-tag.js'
import { deferred } from '../../support/deferred.js'
import { selfSigned } from '../../support/programs/certificate.js'
import { type ScriptedSmsc, smscForTest } from './scripted-smsc.js'

const reference = '01900000-0000-7000-8000-000000000001.sms.1'
const message = (text = 'Aviso'): SmsMessage => ({ reference, to: '+5511987654321', text })
const soon = (ms = 10_000): AbortSignal => AbortSignal.timeout(ms)

async function open(smsc: { url: string }, query = '', options: Partial<SmppOptions> = {}): Promise<Carrier<SmsMessage>> {
  const provider = smppProvider({ onEvents: async () => {}, onUnreadable: () => {}, ...options })
  const carrier = await provider.open(new URL(smsc.url + query))
  onTestFinished(() => carrier.close())
  return carrier
}

const outcome = (sending: Promise<unknown>): Promise<string> =>
  sending.then(
    () => 'taken',
    (error: SendError) => error.kind,
  )

const submits = (smsc: ScriptedSmsc) => smsc.got.filter(({ command }) => command === commands.submit)

/** The fixed members of a submit_sm in their order, read apart from our own reader. */
function readSubmit(body: Buffer) {
  let at = 0
  const text = (): string => {
    const end = body.indexOf(0, at)
    const value = body.toString('latin1', at, end)
    at = end + 1
    return value
  }
  const byte = (): number => body[at++]!
  const service = text()
  const source = [byte(), byte(), text()]
  const to = [byte(), byte(), text()]
  const [esmClass, , , , validity, registered, replaces, dataCoding] = [
    byte(),
    byte(),
    byte(),
    text(),
    text(),
    byte(),
    byte(),
    byte(),
  ]
  byte()
  const length = byte()
  const content = body.subarray(at, at + length)
  const tlv = body.subarray(at + length)
  return { service, source, to, esmClass, validity, registered, replaces, dataCoding, content, tlv }
}

describe('what is written', () => {
  test('one part: numbers, alphabet, receipt, validity and our tag', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc, '?from=29000&validity=30')
    const receipt = await carrier.send(message('Olé @ [1]'), soon())
    expect(receipt).toMatchObject({ answer: 'id:id1', delivered: false, facts: { segments: 1, encoding: 'gsm7' } })
    const tag = makeTag(reference, 1, 1)
    expect(readSubmit(submits(smsc)[0]!.body)).toEqual({
      service: '',
      source: [3, 0, '29000'],
      to: [1, 1, '5511987654321'],
      esmClass: 0,
      validity: '000001060000000R',
      // A receipt of the end, and one of what happens before.
      registered: 0x11,
      replaces: 0,
      dataCoding: 0,
      content: Buffer.from([0x4f, 0x6c, 0x05, 0x20, 0x00, 0x20, 0x1b, 0x3c, 0x31, 0x1b, 0x3e]),
      tlv: Buffer.from([0x02, 0x04, 0, 2, tag >> 8, tag & 255]),
    })
    const [bind] = smsc.got
    expect(bind!.body.toString('latin1')).toBe('usuario\0senha 1\0\0\x34\0\0\0')
  })

  test('several parts, in one write, with the header that joins them and a name and tag each', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc, '?from=Acme')
    const text = `${'ã'.repeat(66)}😀${'õ'.repeat(20)}`
    const receipt = await carrier.send(message(text), soon())
    expect(receipt.references).toHaveLength(2)
    const parts = submits(smsc).map(pdu => readSubmit(pdu.body))
    expect(parts.map(part => [...part.content.subarray(0, 3), ...part.content.subarray(4, 6)])).toEqual([
      [5, 0, 3, 2, 1],
      [5, 0, 3, 2, 2],
    ])
    expect(new Set(parts.map(part => part.content[3])).size).toBe(1)
    expect(parts.map(part => Buffer.from(part.content.subarray(6)).swap16().toString('utf16le'))).toEqual([
      'ã'.repeat(66),
      `😀${'õ'.repeat(20)}`,
    ])
    expect(parts).toMatchObject([
      { esmClass: 0x40, dataCoding: 8, source: [5, 0, 'Acme'] },
      { esmClass: 0x40, dataCoding: 8 },
    ])
    expect(parts.map(part => part.tlv.readUInt16BE(4))).toEqual([makeTag(reference, 1, 2), makeTag(reference, 2, 2)])
  })

  test('no intermediate receipts are asked for where the carrier refuses that', async () => {
    const smsc = await smscForTest()
    await (await open(smsc, '?intermediate=off')).send(message(), soon())
    expect(readSubmit(submits(smsc)[0]!.body)).toMatchObject({ registered: 1 })
  })

  test('a repetition replaces its own first copy and nothing else, where the operator chose that', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc, '?unanswered=replace')
    const other = { ...message(), reference: reference.replace(/1\.sms/, '2.sms') }
    for (const sent of [message(), { ...message(), repeated: true }, other]) await carrier.send(sent, soon())
    const [first, again, another] = submits(smsc).map(({ body }) => readSubmit(body))
    expect([first!.replaces, again!.replaces, another!.replaces]).toEqual([0, 1, 0])
    expect(first!.service).toMatch(/^[0-9a-z]{5}$/)
    expect(again!.service).toBe(first!.service)
    expect(another!.service).not.toBe(first!.service)
  })

  test('a repetition replaces nothing by default', async () => {
    const smsc = await smscForTest()
    await (await open(smsc)).send({ ...message(), repeated: true }, soon())
    expect(readSubmit(submits(smsc)[0]!.body)).toMatchObject({ service: '', replaces: 0 })
  })

  test.each([
    ['', undefined],
    ['?unanswered=person', undefined],
    ['?unanswered=repeat&validity=30', 31 * 3_600_000],
    ['?unanswered=replace', 0],
  ])('without a report, %j: repeated after %s ms', async (query, ms) => {
    expect((await open(await smscForTest(), query)).repeatAfterMs).toBe(ms)
  })

  test('a text that would take more than eight parts is left to another carrier, or refused before anything leaves', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc)
    const [fits, tooLong] = [message('ã'.repeat(8 * 67)), message('ã'.repeat(8 * 67 + 1))]
    expect([carrier.lacks?.(fits), carrier.lacks?.(tooLong)]).toEqual([false, true])
    expect(await outcome(carrier.send(tooLong, soon()))).toBe('permanent')
    expect(await outcome(carrier.send(message('ã'.repeat(600)), soon()))).toBe('permanent')
    expect(submits(smsc)).toEqual([])
  })

  test('over TLS, with a certificate that is checked', async () => {
    const tls = selfSigned(['127.0.0.1'])
    const smsc = await smscForTest({}, tls)
    expect(await outcome((await open(smsc, '', { ca: tls.cert })).send(message(), soon()))).toBe('taken')
    expect(await outcome((await open(smsc)).send(message(), soon()))).toBe('temporary')
  })
})

describe('refusals', () => {
  test.each([
    [0x58, 'throttled'],
    [0x14, 'throttled'],
    [0x08, 'temporary'],
    [0x45, 'temporary'],
    [0x0b, 'permanent'],
    [0x0a, 'temporary'],
    [0x03, 'temporary'],
    [0x43, 'temporary'],
    [0x48, 'temporary'],
    [0x49, 'temporary'],
    [0x50, 'temporary'],
    [0x51, 'temporary'],
    [0x62, 'temporary'],
    [0xc4, 'temporary'],
    [0x65, 'permanent'],
    [0x421, 'temporary'],
  ])('0x%s: %s', async (status, kind) => {
    const smsc = await smscForTest({ onSubmit: (pdu, connection) => connection.answer(pdu, status) })
    const carrier = await open(smsc)
    const error = await carrier.send(message(), soon()).catch((caught: SendError) => caught)
    expect(error).toMatchObject({ kind, answer: expect.stringContaining(status.toString(16)) })
  })

  test('of messages in parts does not stop other messages', async () => {
    const smsc = await smscForTest({ onSubmit: (pdu, connection) => connection.answer(pdu, 0x43) })
    const error = await (await open(smsc)).send(message('a'.repeat(200)), soon()).catch((caught: SendError) => caught)
    expect(error).toMatchObject({ kind: 'temporary', scope: 'message' })
  })

  test('of the bind: temporary with the reason, until the carrier accepts the bind', async () => {
    const smsc = await smscForTest({
      onBind: (pdu, connection, count) => connection.answer(pdu, count === 1 ? 0x0e : 0, Buffer.from('smsc\0')),
    })
    const carrier = await open(smsc)
    const error = await carrier.send(message(), soon()).catch((caught: SendError) => caught)
    expect(error).toMatchObject({ kind: 'temporary', reason: 'A operadora recusou a senha (SMS_URL).' })
    await expect.poll(() => outcome(carrier.send(message(), soon()))).toBe('taken')
  })

  test.each([0x0b, 0x65, 0x66, 0x58, 0xfe])(
    'of the bind with the code %i: temporary, because it says nothing of a message',
    async status => {
      const smsc = await smscForTest({ onBind: (pdu, connection) => connection.answer(pdu, status) })
      const error = await (await open(smsc)).send(message(), soon()).catch((caught: SendError) => caught)
      expect(error).toMatchObject({ kind: 'temporary', scope: 'carrier', answer: expect.stringContaining(status.toString(16)) })
      expect(submits(smsc)).toEqual([])
    },
  )

  test('of one part while another was taken: the part alone is sent again', async () => {
    const smsc = await smscForTest({
      onSubmit: (pdu, connection, count) => connection.answer(pdu, count === 2 ? 0x58 : 0, Buffer.from(`id${count}\0`)),
    })
    const carrier = await open(smsc)
    const receipt = await carrier.send(message('a'.repeat(200)), soon())
    expect(receipt.answer).toBe('id:id1 id:id3')
    expect(submits(smsc)).toHaveLength(3)
    expect(submits(smsc)[2]!.body).toEqual(submits(smsc)[1]!.body)
  })

  test('of one part for ever while another was taken: uncertain, never sent again as a whole', async () => {
    const smsc = await smscForTest({
      onSubmit: (pdu, connection, count) => connection.answer(pdu, count === 1 ? 0 : 0x58, Buffer.from('id\0')),
    })
    const carrier = await open(smsc)
    const error = await carrier.send(message('a'.repeat(200)), soon(1_000)).catch((caught: SendError) => caught)
    expect(error).toMatchObject({ kind: 'uncertain', references: [carrierReference('id', message().to), null] })
  })

  test('of one part for good while another was taken: uncertain, with the refusal and the name of the other', async () => {
    const smsc = await smscForTest({
      onSubmit: (pdu, connection, count) => connection.answer(pdu, count === 1 ? 0 : 0x65, Buffer.from('id\0')),
    })
    const error = await (await open(smsc)).send(message('a'.repeat(200)), soon()).catch((caught: SendError) => caught)
    expect(error).toMatchObject({
      kind: 'uncertain',
      references: [carrierReference('id', message().to), null],
      answer: '0x00000065 ESME_RX_P_APPN',
      scope: 'message',
      reason:
        'A mensagem foi em partes: a operadora recusou uma e aceitou outra. Motivo da recusa: A operadora recusou a mensagem.',
    })
    expect(submits(smsc)).toHaveLength(2)
  })

  test('of one part for good while another has no answer: uncertain too', async () => {
    const smsc = await smscForTest({
      onSubmit(pdu, connection, count) {
        if (count === 2) connection.answer(pdu, 0x65)
      },
    })
    const error = await (await open(smsc)).send(message('a'.repeat(200)), soon(500)).catch((caught: SendError) => caught)
    expect(error).toMatchObject({
      kind: 'uncertain',
      references: [],
      reason: expect.stringContaining(
        'recusou uma e não respondeu sobre outra. Motivo da recusa: A operadora recusou a mensagem.',
      ),
    })
  })

  test('of every part for good: permanent', async () => {
    const smsc = await smscForTest({ onSubmit: (pdu, connection) => connection.answer(pdu, 0x65) })
    expect(await outcome((await open(smsc)).send(message('a'.repeat(200)), soon()))).toBe('permanent')
  })
})

describe('a message of which the carrier has some parts already', () => {
  const long = { ...message('a'.repeat(400)), taken: { parts: [1, 3], total: 3 } }

  test('only the others are sent, as they were', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc)
    await carrier.send({ ...message('a'.repeat(400)) }, soon())
    const receipt = await carrier.send(long, soon())
    expect(receipt.references).toEqual([null, carrierReference('id4', long.to), null])
    const bodies = submits(smsc).map(({ body }) => body)
    expect(bodies).toHaveLength(4)
    expect(bodies[3]).toEqual(bodies[1])
  })

  test('is sent whole when its text is now split differently', async () => {
    const smsc = await smscForTest()
    const receipt = await (await open(smsc)).send({ ...long, text: 'a'.repeat(200) }, soon())
    expect(receipt.references).toEqual([carrierReference('id1', long.to), carrierReference('id2', long.to)])
  })

  test('a temporary refusal of the rest is not an unknown outcome: nothing new was accepted', async () => {
    const smsc = await smscForTest({ onSubmit: (pdu, connection) => connection.answer(pdu, 0x58) })
    expect(await outcome((await open(smsc)).send(long, soon()))).toBe('throttled')
    expect(submits(smsc)).toHaveLength(1)
  })
})

describe('a connection that breaks', () => {
  test('in the middle of the window: what was written is uncertain, what was not is temporary', async () => {
    const smsc = await smscForTest({
      onSubmit(_pdu, { socket }, count) {
        if (count === 3) socket.destroy()
      },
    })
    const carrier = await open(smsc, '?window=3')
    const kinds = await Promise.all(Array.from({ length: 10 }, () => outcome(carrier.send(message(), soon()))))
    expect(kinds.filter(kind => kind === 'uncertain')).toHaveLength(3)
    expect(kinds.filter(kind => kind === 'temporary')).toHaveLength(7)
    expect(submits(smsc)).toHaveLength(3)
  })

  test('is opened again by itself, also while nothing is sent', async () => {
    const smsc = await smscForTest()
    await open(smsc)
    const first = await smsc.bound()
    first.socket.destroy()
    await expect.poll(async () => (await smsc.bound()) !== first).toBe(true)
  })

  test('an unreachable carrier fails a send at once, so that another carrier takes the message', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc)
    await carrier.send(message(), soon())
    await smsc.close()
    await expect.poll(() => outcome(carrier.send(message(), soon(60_000)))).toBe('temporary')
  })

  test('without a response to enquire_link is closed and opened again', async () => {
    const smsc = await smscForTest({ onEnquire: () => {} })
    await open(smsc, '', { keepAliveMs: 100, responseTimeoutMs: 200 })
    await expect.poll(() => smsc.connections.length).toBeGreaterThan(1)
    expect(smsc.got.some(({ command }) => command === commands.enquireLink)).toBe(true)
  })

  test('bytes that are not SMPP end the connection, not the process', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc)
    const connection = await smsc.bound()
    connection.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
    await expect.poll(() => smsc.connections.length).toBe(2)
    await expect.poll(() => carrier.ready).toBe(true)
    expect(await outcome(carrier.send(message(), soon()))).toBe('taken')
  })
})

describe('an unbind of the carrier', () => {
  test('a message that waited for its turn does not leave and is not uncertain', async () => {
    const held = deferred<Buffer>()
    const smsc = await smscForTest({
      onSubmit: ({ command, sequence }) => held.resolve(writePdu(command + RESPONSE, sequence, Buffer.from('id1\0'))),
    })
    const carrier = await open(smsc, '?window=1')
    const first = carrier.send(message(), soon())
    const answer = await held.promise
    const second = outcome(carrier.send(message(), soon()))
    // In one write, so that the message gets its turn while the connection is not closed yet.
    ;(await smsc.bound()).socket.write(Buffer.concat([writePdu(commands.unbind, 1), answer]))
    expect((await first).answer).toBe('id:id1')
    expect(await second).toBe('temporary')
  })

  test('ends the session, also where the carrier leaves the connection open, and another one is opened', async () => {
    const smsc = await smscForTest()
    const carrier = await open(smsc)
    const connection = await smsc.bound()
    connection.socket.allowHalfOpen = true
    expect(await connection.ask(commands.unbind)).toBe(0)
    expect(carrier.ready).toBe(false)
    expect(await outcome(carrier.send(message(), soon()))).toBe('temporary')
    await expect.poll(() => outcome(carrier.send(message(), soon())), { timeout: 120_000 }).toBe('taken')
    expect(submits(smsc).map(({ connection }) => connection)).toEqual([2])
  })
})

describe('answers that come late', () => {
  test('are reported as an event of our reference: the message of unknown outcome was accepted', async () => {
    const held = deferred<() => void>()
    const smsc = await smscForTest({
      onSubmit: (pdu, connection) => held.resolve(() => connection.answer(pdu, 0, Buffer.from('id9\0'))),
    })
    const events: CarrierEvent[] = []
    const carrier = await open(smsc, '', { onEvents: async items => void events.push(...items) })
    expect(await outcome(carrier.send(message(), soon(300)))).toBe('uncertain')
    ;(await held.promise)()
    await expect
      .poll(() => events, { timeout: 120_000 })
      .toEqual([
        {
          kind: 'report',
          of: { ours: reference, carrier: [carrierReference('id9', '+5511987654321')], part: { number: 1, total: 1 } },
          type: 'sent',
          at: null,
          answer: 'id:id9',
        },
      ])
  })

  test('of one part say which, and the parts that were answered in time are named by the error', async () => {
    const held = deferred<() => void>()
    const smsc = await smscForTest({
      onSubmit(pdu, connection, count) {
        const answer = (): void => connection.answer(pdu, 0, Buffer.from(`id${count}\0`))
        if (count === 2) held.resolve(answer)
        else answer()
      },
    })
    const events: CarrierEvent[] = []
    const carrier = await open(smsc, '', { onEvents: async items => void events.push(...items) })
    const error = await carrier.send(message('a'.repeat(400)), soon(500)).catch((caught: SendError) => caught)
    const named = (id: string): string => carrierReference(id, '+5511987654321')
    expect(error).toMatchObject({ kind: 'uncertain', references: [named('id1'), null, named('id3')] })
    ;(await held.promise)()
    await expect
      .poll(() => events, { timeout: 120_000 })
      .toMatchObject([{ of: { ours: reference, carrier: [named('id2')], part: { number: 2, total: 3 } }, type: 'sent' }])
  })

  test('one that never comes frees its slot in the window', async () => {
    const smsc = await smscForTest({ onSubmit: () => {} })
    const carrier = await open(smsc, '?window=1')
    for (let n = 0; n < 3; n++) expect(await outcome(carrier.send(message(), soon(200)))).toBe('uncertain')
    expect(submits(smsc)).toHaveLength(3)
  })
})

describe('a deliver_sm of the carrier', () => {
  const mo = Buffer.from('\0\x01\x015511987654321\0\0\x0029000\0\0\0\0\0\0\0\0\0\0\x02Ok', 'latin1')

  test('is acknowledged once it is committed, and not before', async () => {
    const smsc = await smscForTest()
    const committed = deferred()
    const events: CarrierEvent[] = []
    await open(smsc, '', {
      onEvents: async items => {
        events.push(...items)
        await committed.promise
      },
    })
    const asked = (await smsc.bound()).ask(commands.deliver, mo)
    await expect.poll(() => events).toMatchObject([{ kind: 'reply', from: ['+5511987654321'], text: 'Ok' }])
    expect(await Promise.race([asked, Promise.resolve('open')])).toBe('open')
    committed.resolve()
    expect(await asked).toBe(0)
  })

  test('is asked for again when it could not be committed', async () => {
    const smsc = await smscForTest()
    await open(smsc, '', { onEvents: () => Promise.reject(new Error('database away')) })
    expect(await (await smsc.bound()).ask(commands.deliver, mo)).toBe(0x64)
  })

  test('that cannot be read is acknowledged and reported, because the carrier would repeat it for ever', async () => {
    const smsc = await smscForTest()
    const unreadable: unknown[] = []
    await open(smsc, '', { onUnreadable: error => unreadable.push(error) })
    expect(await (await smsc.bound()).ask(commands.deliver, Buffer.from([0, 1]))).toBe(0)
    expect(unreadable).toHaveLength(1)
  })

  test('is joined by enquire_link and unbind, which are answered; unknown commands are refused', async () => {
    const smsc = await smscForTest()
    await open(smsc)
    const connection = await smsc.bound()
    expect(await connection.ask(commands.enquireLink)).toBe(0)
    expect(await connection.ask(0x0103)).toBe(3)
    expect(await connection.ask(commands.unbind)).toBe(0)
    await expect.poll(() => smsc.connections.length).toBe(2)
  })
})

test('close unbinds and does not reconnect', async () => {
  const smsc = await smscForTest()
  const carrier = await open(smsc)
  await carrier.send(message(), soon())
  await carrier.close()
  expect(smsc.got.at(-1)!.command).toBe(commands.unbind)
  expect(await outcome(carrier.send(message(), soon()))).toBe('temporary')
  expect(smsc.connections).toHaveLength(1)
})

test('every option that the documents name is known', () => {
  const url = new URL('smpps://u:p@h?from=29000&ton=3&npi=0&system-type=x&window=9&validity=24&rate=5')
  expect(smpp.identify!(url)).toBe('u@h:3550')
})
