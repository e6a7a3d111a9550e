/** Encodes and decodes the SMPP 3.4 operations that the gateway uses. */
export const commands = {
  genericNack: 0x8000_0000,
  submit: 0x04,
  deliver: 0x05,
  unbind: 0x06,
  bindTransceiver: 0x09,
  enquireLink: 0x15,
  alert: 0x102,
} as const

export const RESPONSE = 0x8000_0000

export const tags = {
  userMessageReference: 0x0204,
  sarReference: 0x020c,
  sarTotal: 0x020e,
  sarNumber: 0x020f,
  receiptedMessageId: 0x001e,
  messageState: 0x0427,
  messagePayload: 0x0424,
} as const

export interface Pdu {
  command: number
  status: number
  sequence: number
  body: Buffer
}

const HEADER = 16
/** A message_payload has at most 65,535 bytes, so a longer PDU is not SMPP. */
const MAX_PDU = 70_000
const MAX_SEQUENCE = 0x7fff_ffff

/** SMPP 3.4, 5.1.4: sequence numbers start at 1. */
export const nextSequence = (last: number): number => (last >= MAX_SEQUENCE ? 1 : last + 1)

export function writePdu(command: number, sequence: number, body: Buffer = Buffer.alloc(0), status = 0): Buffer {
  const pdu = Buffer.alloc(HEADER + body.length)
  pdu.writeUInt32BE(pdu.length, 0)
  pdu.writeUInt32BE(command, 4)
  pdu.writeUInt32BE(status, 8)
  pdu.writeUInt32BE(sequence, 12)
  body.copy(pdu, HEADER)
  return pdu
}

/** Splits a byte stream into PDUs. */
export class PduReader {
  #incomplete: Buffer = Buffer.alloc(0)

  /** Throws when the bytes cannot be SMPP; the rest of the stream is then unusable. */
  read(chunk: Buffer): Pdu[] {
    let bytes = this.#incomplete.length === 0 ? chunk : Buffer.concat([this.#incomplete, chunk])
    const pdus: Pdu[] = []
    while (bytes.length >= 4) {
      const length = bytes.readUInt32BE(0)
      if (length < HEADER || length > MAX_PDU) throw new Error(`a PDU of ${length} bytes`)
      if (bytes.length < length) break
      pdus.push({
        command: bytes.readUInt32BE(4),
        status: bytes.readUInt32BE(8),
        sequence: bytes.readUInt32BE(12),
        body: bytes.subarray(HEADER, length),
      })
      bytes = bytes.subarray(length)
    }
    this.#incomplete = bytes
    return pdus
  }
}

const text = (value: string): Buffer => Buffer.from(`${value}\0`, 'latin1')
const VERSION = 0x34

export const bindBody = (systemId: string, password: string, systemType: string): Buffer =>
  Buffer.concat([text(systemId), text(password), text(systemType), Buffer.from([VERSION, 0, 0]), text('')])

export type Address = { ton: number; npi: number; digits: string }

/** SMPP 3.4, 5.2.17: a receipt of the end, and one of what happens before, such as a telephone that is switched off. */
export const FINAL_RECEIPT = 0x01
export const INTERMEDIATE_RECEIPT = 0x10

interface Submit {
  /** At most five characters; empty: the carrier's default. */
  serviceType: string
  source: Address
  to: Address
  esmClass: number
  /** Relative time (7.1.1); empty: the carrier's default. */
  validity: string
  registeredDelivery: number
  /** Takes the place of a message with the same source, recipient and service type that is not delivered yet (5.2.18). */
  replacesPending: boolean
  dataCoding: number
  message: Buffer
  referenceTag: number
  /** Our reference as a whole, in an optional parameter that the carrier defines. */
  reference: { tag: number; text: string } | null
}

export function submitBody(submit: Submit): Buffer {
  const { serviceType, source, to, esmClass, validity, registeredDelivery, replacesPending, dataCoding, message } = submit
  const { referenceTag, reference } = submit
  const address = ({ ton, npi, digits }: Address): Buffer[] => [Buffer.from([ton, npi]), text(digits)]
  return Buffer.concat([
    text(serviceType),
    ...address(source),
    ...address(to),
    Buffer.from([esmClass, 0, 0]),
    text(''),
    text(validity),
    Buffer.from([registeredDelivery, replacesPending ? 1 : 0, dataCoding, 0, message.length]),
    message,
    optionalParameter(tags.userMessageReference, Buffer.from([referenceTag >> 8, referenceTag & 0xff])),
    ...(reference === null ? [] : [optionalParameter(reference.tag, Buffer.from(reference.text, 'latin1'))]),
  ])
}

const optionalParameter = (tag: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([tag >> 8, tag & 0xff, value.length >> 8, value.length & 0xff]), value])

export interface Deliver {
  source: string
  to: string
  esmClass: number
  dataCoding: number
  message: Buffer
  tlvs: ReadonlyMap<number, Buffer>
}

/** A message or a receipt from the carrier. Throws when the body ends too early. */
export function readDeliver(body: Buffer): Deliver {
  const cursor = new Cursor(body)
  cursor.text()
  cursor.bytes(2)
  const source = cursor.text()
  cursor.bytes(2)
  const to = cursor.text()
  const esmClass = cursor.bytes(3)[0]!
  cursor.text()
  cursor.text()
  const [, , dataCoding, , length] = cursor.bytes(5)
  const short = cursor.bytes(length!)
  const tlvs = new Map<number, Buffer>()
  while (cursor.left >= 4) tlvs.set(cursor.bytes(2).readUInt16BE(), cursor.bytes(cursor.bytes(2).readUInt16BE()))
  return {
    source,
    to,
    esmClass,
    dataCoding: dataCoding!,
    message: short.length > 0 ? short : (tlvs.get(tags.messagePayload) ?? short),
    tlvs,
  }
}

/** The carrier's id of an accepted message. */
export const readMessageId = (body: Buffer): string => new Cursor(body).text()

class Cursor {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  get left(): number {
    return this.#body.length - this.#at
  }

  bytes(count: number): Buffer {
    if (count > this.left) throw new Error('a PDU that ends too early')
    this.#at += count
    return this.#body.subarray(this.#at - count, this.#at)
  }

  text(): string {
    const end = this.#body.indexOf(0, this.#at)
    // Some carriers omit the last NUL of a response.
    const value = this.#body.toString('latin1', this.#at, end === -1 ? this.#body.length : end)
    this.#at = end === -1 ? this.#body.length : end + 1
    return value
  }
}
