import { toHex } from './bytes.js'

/** What an RFC 3161 token says, read without a library: which digest was stamped, and when. Its signature is checked elsewhere. */
export interface StampedDigest {
  digest: Uint8Array
  at: Date
}

interface Der {
  content: Uint8Array
  /** Where the next element begins. */
  end: number
}

const SIGNED_DATA = '2a864886f70d010702'
const TST_INFO = '2a864886f70d0109100104'
const SHA_256 = '608648016503040201'

/** null: it is no token over a SHA-256. */
export function readStampedDigest(token: Uint8Array): StampedDigest | null {
  try {
    const [type, content] = children(read(token, 0).content)
    if (toHex(type!.content) !== SIGNED_DATA) return null
    const [, , encapsulated] = children(children(content!.content)[0]!.content)
    const [contentType, wrapped] = children(encapsulated!.content)
    if (toHex(contentType!.content) !== TST_INFO) return null
    const info = read(children(wrapped!.content)[0]!.content, 0)
    const [, , imprint, , time] = children(info.content)
    const [algorithm, digest] = children(imprint!.content)
    if (toHex(children(algorithm!.content)[0]!.content) !== SHA_256) return null
    return { digest: digest!.content, at: readTime(new TextDecoder().decode(time!.content)) }
  } catch {
    return null
  }
}

/** GeneralizedTime in UTC, as DER has it. */
function readTime(text: string): Date {
  const [, date, time, fraction = ''] = /^(\d{8})(\d{6})(\.\d+)?Z$/.exec(text) ?? []
  if (date === undefined) throw new RangeError('no time')
  const iso = `${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time!.replace(/(..)(..)(..)/, '$1:$2:$3')}${fraction.slice(0, 4)}Z`
  if (Number.isNaN(Date.parse(iso))) throw new RangeError('no time')
  return new Date(iso)
}

/** Definite lengths only, as DER has them. Throws where the bytes end too early. */
function read(bytes: Uint8Array, at: number): Der {
  let [start, size] = [at + 2, byteAt(bytes, at + 1)]
  if (size >= 0x80) {
    const length = size & 0x7f
    if (length === 0 || length > 4) throw new RangeError('too long')
    size = 0
    for (let index = 0; index < length; index++) size = size * 256 + byteAt(bytes, start + index)
    start += length
  }
  if (start + size > bytes.length) throw new RangeError('too short')
  return { content: bytes.subarray(start, start + size), end: start + size }
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw new RangeError('too short')
  return byte
}

function children(bytes: Uint8Array): Der[] {
  const found: Der[] = []
  for (let at = 0; at < bytes.length; at = found.at(-1)!.end) found.push(read(bytes, at))
  return found
}
