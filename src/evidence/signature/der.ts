import { SignatureFault } from './fault.js'

/**
 * ASN.1 in DER (X.690): what CMS, X.509 and time-stamps are made of. A reader of our own, because signatures are checked over the
 * very bytes that were signed, and because damaged input must end in a verdict.
 */
export interface Der {
  tag: number
  /** The element with its tag and length. */
  raw: Buffer
  content: Buffer
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** The constructed tag [number] of a member. */
export const context = (number: number): number => 0xa0 + number

const malformed = (): SignatureFault => new SignatureFault('A estrutura da assinatura está danificada (ASN.1).')

function readElement(bytes: Buffer, at: number): Der {
  const tag = bytes[at]
  const first = bytes[at + 1]
  // Tags above 30 and indefinite lengths do not occur in DER structures of CMS, X.509 and RFC 3161.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f || first === 0x80 || first > 0x84) throw malformed()
  const lengthBytes = first < 0x80 ? 0 : first - 0x80
  if (at + 2 + lengthBytes > bytes.length) throw malformed()
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
  const start = at + 2 + lengthBytes
  if (start + length > bytes.length) throw malformed()
  return { tag, raw: bytes.subarray(at, start + length), content: bytes.subarray(start, start + length) }
}

/** One element that fills the bytes. */
export function readDer(bytes: Buffer, tag?: number): Der {
  const element = readElement(bytes, 0)
  if (element.raw.length !== bytes.length) throw malformed()
  return tag === undefined ? element : expectTag(element, tag)
}

/** The first element of bytes that may have more after it, as the zeros that pad a PDF's signature. */
export const readFirstDer = (bytes: Buffer): Der => readElement(bytes, 0)

export function expectTag(element: Der | undefined, tag: number): Der {
  if (element?.tag !== tag) throw malformed()
  return element
}

export function childrenOf({ content }: Der): Der[] {
  const children: Der[] = []
  for (let at = 0; at < content.length; ) {
    const child = readElement(content, at)
    children.push(child)
    at += child.raw.length
  }
  return children
}

/** Takes the members of a sequence in their order; optional ones by their tag. */
export class Members {
  readonly #members: Der[]
  #at = 0

  constructor(sequence: Der | undefined, tag: number = TAG.sequence) {
    this.#members = childrenOf(expectTag(sequence, tag))
  }

  take(tag: number): Der {
    return expectTag(this.#members[this.#at++], tag)
  }

  takeAny(): Der {
    const member = this.#members[this.#at++]
    if (member === undefined) throw malformed()
    return member
  }

  optional(tag: number): Der | null {
    return this.#members[this.#at]?.tag === tag ? this.#members[this.#at++]! : null
  }
}

export function readOid(element: Der | undefined): string {
  const { content } = expectTag(element, TAG.oid)
  if (content.length === 0 || content.length > 64 || (content.at(-1)! & 0x80) !== 0) throw malformed()
  const arcs: number[] = []
  let arc = 0
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f)
    if ((byte & 0x80) !== 0) continue
    arcs.push(arc)
    arc = 0
  }
  const root = Math.min(2, Math.floor(arcs[0]! / 40))
  return [root, arcs[0]! - root * 40, ...arcs.slice(1)].join('.')
}

/** UTCTime or GeneralizedTime in UTC, with a fraction where there is one. */
export function readTime({ tag, content }: Der): Date {
  const text = content.toString('latin1')
  const found = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d{1,9}))?Z$/.exec(text)
  if (found === null || found[1]!.length !== (tag === TAG.utcTime ? 2 : 4)) throw malformed()
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const full = tag === TAG.utcTime ? year + (year < 50 ? 2_000 : 1_900) : year
  return new Date(Date.UTC(full, month - 1, day, hour, minute, second, Number((found[7] ?? '0').padEnd(3, '0').slice(0, 3))))
}

export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = Buffer.alloc(4)
  size.writeUInt32BE(length)
  const digits = size.subarray(size.findIndex(byte => byte !== 0))
  return Buffer.concat([Buffer.from([tag, 0x80 + digits.length]), digits, content])
}

export const sequence = (...parts: Uint8Array[]): Buffer => der(TAG.sequence, ...parts)
/** DER orders the members of a set by their bytes. */
export const set = (...parts: Uint8Array[]): Buffer => der(TAG.set, ...parts.toSorted(Buffer.compare))
export const octets = (bytes: Uint8Array): Buffer => der(TAG.octetString, bytes)
export const bits = (bytes: Uint8Array, unused = 0): Buffer => der(TAG.bitString, Buffer.from([unused]), bytes)
export const utf8 = (text: string): Buffer => der(TAG.utf8, Buffer.from(text))
export const nothing = (): Buffer => der(TAG.null)
export const yes = (): Buffer => der(TAG.boolean, Buffer.from([0xff]))

/** A number that is not negative, from its bytes. */
export function unsigned(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex(byte => byte !== 0)
  const digits = start === -1 ? Buffer.from([0]) : bytes.subarray(start)
  return der(TAG.integer, digits[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits)
}

export function oid(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number) as [number, number, ...number[]]
  return der(TAG.oid, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

function base128(arc: number): number[] {
  const digits = [arc % 128]
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) digits.unshift(0x80 + (left % 128))
  return digits
}

/** X.509 writes years before 2050 as UTCTime. */
export function time(date: Date): Buffer {
  const text = `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  return date.getUTCFullYear() < 2_050
    ? der(TAG.utcTime, Buffer.from(text.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(text))
}
