import { readGsm7 } from '../../domain/text/gsm7.js'
import { readReportedNumber } from '../../domain/text/phone.js'
import { storable } from '../../domain/text/text.js'
import type { CarrierEvent, CarrierReply, CarrierReport, SplitCharacters } from '../provider.js'
import { type Deliver, readDeliver, tags } from './smpp-pdu.js'

const MESSAGE_TYPE = 0x3c
/** SMPP 3.4, 5.2.12: a delivery attempt failed or waits, and the carrier goes on trying. */
const INTERMEDIATE = 0x20
export const HAS_HEADER = 0x40
const UCS2 = 8
/** SMPP 3.4, 5.2.23 allows 64 characters. A longer id is cut in the same way wherever it comes: no index holds one of any length. */
const MAX_ID = 100

type State = Pick<CarrierReport, 'type' | 'failure' | 'reason'>
const delivered: State = { type: 'delivered' }
const failed = (reason: string): State => ({ type: 'failed', failure: 'undelivered', reason })
const undelivered = failed('A operadora não conseguiu entregar a mensagem.')
const rejected = failed('A operadora rejeitou a mensagem depois de aceitá-la.')

/** Final states of message_state and of "stat:" in a receipt's text, with the other spellings of some carriers. */
const states: Readonly<Record<string, State>> = {
  ...{ DELIVRD: delivered, DELIVERED: delivered, DELIVERD: delivered },
  EXPIRED: failed('O aparelho ficou fora de alcance até o fim da validade da mensagem.'),
  DELETED: failed('A operadora apagou a mensagem antes de entregá-la.'),
  ...{ UNDELIV: undelivered, UNDELIVERABLE: undelivered, UNDELIVERED: undelivered, UNDELIVRD: undelivered, FAILED: undelivered },
  ...{ REJECTD: rejected, REJECTED: rejected },
}
const stateNames = ['SCHEDULED', 'ENROUTE', 'DELIVRD', 'EXPIRED', 'DELETED', 'UNDELIV', 'ACCEPTD', 'UNKNOWN', 'REJECTD']

/** States before the end. They prove that the carrier has the message: a report of one resolves an attempt whose answer was lost. */
const TAKEN_STATES: ReadonlySet<string> = new Set(['SCHEDULED', 'ENROUTE', 'ACCEPTD', 'ACCEPTED', 'BUFFRED', 'BUFFERED'])

/** Reads deliver_sm: delivery receipts and the replies of people. Throws when the bytes are not a deliver_sm. */
export function readEvents(body: Buffer): CarrierEvent[] {
  const deliver = readDeliver(body)
  return isReceipt(deliver) ? readReceipt(deliver) : [readReply(deliver)]
}

/** Some carriers do not set the message type of receipts, so the id and the text of a receipt identify one too. */
function isReceipt(deliver: Deliver): boolean {
  const { esmClass } = deliver
  if ((esmClass & MESSAGE_TYPE) !== 0 || tlvOf(deliver, tags.receiptedMessageId) !== null) return true
  return (esmClass & HAS_HEADER) === 0 && /^\s*id:\s*\S+\s(.*\s)?stat:\s*[a-z]{5,}/is.test(receiptText(deliver))
}

/** Reads the text as ASCII whatever data_coding says, because decoding as GSM-7 would change characters such as _ in the id. */
function receiptText({ message, dataCoding }: Deliver): string {
  const wide = dataCoding === UCS2 ? storable(decode(message, UCS2)) : ''
  return wide.includes('id:') ? wide : message.toString('latin1').replaceAll('\0', '')
}

function readReceipt(deliver: Deliver): CarrierReport[] {
  const text = receiptText(deliver)
  const id = tlvOf(deliver, tags.receiptedMessageId) ?? field(text, 'id')
  if (id === null) return []
  const state = deliver.tlvs.get(tags.messageState)?.[0]
  const word = (state === undefined ? null : stateNames[state]) ?? field(text, 'stat')?.toUpperCase() ?? 'UNKNOWN'
  const code = field(text, 'err')
  const isBeforeEnd =
    TAKEN_STATES.has(word) || ((deliver.esmClass & MESSAGE_TYPE) === INTERMEDIATE && states[word]?.type === 'failed')
  const known = (isBeforeEnd ? undefined : states[word]) ?? { type: 'note' as const }
  const referenceTag = deliver.tlvs.get(tags.userMessageReference)
  const recipient = readReportedNumber(deliver.source)
  const isTagged = referenceTag !== undefined && referenceTag.length >= 2 && recipient !== null
  const tag = isTagged ? { tag: { recipient, bits: referenceTag.readUInt16BE(0) } } : {}
  const hasCode = known.reason !== undefined && code !== null && !/^0*$/.test(code)
  const report: CarrierReport = {
    kind: 'report',
    of: { carrier: possibleReferences(id, deliver), ...tag },
    at: null,
    answer: `id:${id} stat:${word}${code === null ? '' : ` err:${code}`}`,
    ...known,
    ...(hasCode ? { reason: `${known.reason} Código da operadora: ${code}.` } : {}),
  }
  // The note keeps the state in the timeline of a message that was known to be sent.
  return isBeforeEnd ? [{ ...report, type: 'sent' }, report] : [report]
}

function readReply(deliver: Deliver): CarrierReply {
  const { source, esmClass, dataCoding, message } = deliver
  const headed = (esmClass & HAS_HEADER) !== 0 && message.length > 0
  const header = headed ? message.subarray(1, 1 + message[0]!) : Buffer.alloc(0)
  const said = decode(headed ? message.subarray(1 + message[0]!) : message, dataCoding)
  const from = readReportedNumber(source) ?? `+${source.replace(/\D/g, '')}`
  const reference = deliver.tlvs.get(tags.userMessageReference)
  const part = readPart(header, deliver)
  const { text, halves } = part === null ? { text: storable(said) } : splitHalves(said)
  return {
    kind: 'reply',
    from: [from],
    text,
    id: reference === undefined ? null : `${from} ${reference.toString('hex')} ${text}`,
    inReplyTo: null,
    at: null,
    ...(part === null ? {} : { part: { ...part, of: `${from} ${deliver.to} ${part.of}`, ...(halves && { halves }) } }),
  }
}

/** A telephone may split the two halves of an emoji between parts. Half a character cannot be stored as text. */
function splitHalves(said: string): { text: string; halves?: SplitCharacters } {
  const [before] = /^[\uDC00-\uDFFF]/.exec(said) ?? []
  const [after] = /[\uD800-\uDBFF]$/.exec(said) ?? []
  const text = storable(said.slice(before?.length ?? 0, said.length - (after?.length ?? 0)))
  if (before === undefined && after === undefined) return { text }
  return {
    text,
    halves: {
      ...(before === undefined ? {} : { before: before.charCodeAt(0) }),
      ...(after === undefined ? {} : { after: after.charCodeAt(0) }),
    },
  }
}

/** Concatenation by user data header (3GPP 23.040, 9.2.3.24.1 and .8) or by TLVs; null: a message in one part. */
function readPart(header: Buffer, { tlvs }: Deliver): { of: string; number: number; total: number } | null {
  for (let place = 0; place + 1 < header.length; place += 2 + header[place + 1]!) {
    const [kind, length] = [header[place]!, header[place + 1]!]
    const wide = kind === 0x08
    if ((kind !== 0x00 && !wide) || length !== (wide ? 4 : 3) || place + 2 + length > header.length) continue
    const value = header.subarray(place + 2, place + 2 + length)
    return checked(value.subarray(0, wide ? 2 : 1).toString('hex'), value.at(-1)!, value.at(-2)!)
  }
  const [reference, total, number] = [tags.sarReference, tags.sarTotal, tags.sarNumber].map(tag => tlvs.get(tag))
  if (reference === undefined || total === undefined || number === undefined) return null
  return checked(reference.toString('hex'), number[0] ?? 0, total[0] ?? 0)
}

const checked = (of: string, number: number, total: number) =>
  total > 1 && number >= 1 && number <= total ? { of, number, total } : null

/** As it came: it may begin or end with half a character. */
function decode(bytes: Buffer, dataCoding: number): string {
  if (dataCoding !== UCS2) return dataCoding === 0 ? readGsm7(bytes) : bytes.toString('latin1')
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 2))
  return Buffer.from(whole).swap16().toString('utf16le')
}

/** The text of a TLV, with or without the final NUL, which some carriers omit. */
const tlvOf = ({ tlvs }: Deliver, tag: number): string | null => tlvs.get(tag)?.toString('latin1').replace(/\0.*$/s, '') || null

const field = (text: string, name: string): string | null =>
  new RegExp(`(?:^|\\s)${name}:\\s*([^\\s]+)`, 'i').exec(text)?.[1] ?? null

/**
 * The stored reference of a message: the carrier's id and the end of the recipient's number. Carriers write one id in hex in the
 * response and in decimal in the receipt, and an id read in the wrong base must not match another recipient's message.
 */
export const carrierReference = (id: string, number: string): string =>
  `${normaliseId(id)}:${number.replace(/\D/g, '').slice(-8)}`

const normaliseId = (id: string): string =>
  id
    .trim()
    .toLowerCase()
    .replace(/^0+(?=.)/, '')
    .slice(0, MAX_ID)

/** All references that a receipt may mean. Some carriers swap sender and recipient in a receipt. */
function possibleReferences(id: string, { source, to }: Deliver): string[] {
  const given = normaliseId(id)
  const spellings = [given]
  if (/^\d{1,19}$/.test(given)) spellings.push(BigInt(given).toString(16))
  if (/^[0-9a-f]{1,16}$/.test(given)) spellings.push(BigInt(`0x${given}`).toString())
  return [source, to].flatMap(number => [...new Set(spellings)].map(spelling => carrierReference(spelling, number)))
}
