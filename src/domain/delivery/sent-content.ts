import type { Json } from '../evidence/canonical-json.js'
import type { ContentDictionary } from './content-dictionary.js'

/** A message as it left, as the provider that handed it over tells it. */
export interface SentContent {
  /** The media type, and the ending of a file's name. */
  type: string
  extension: string
  /** What the carrier got. */
  bytes: Uint8Array
  /** The parts of the bytes that are stored as blobs, in order. */
  files?: readonly StoredFile[]
  /** What only the recipient may know, such as the code of the link: hidden from the sender wherever the bytes have it. */
  secrets?: readonly string[]
  /** The name of a text that has much of what the bytes have: with it they are stored in less room. */
  dictionary?: ContentDictionary
  /** The sender's copy, where a secret is in the bytes in a form that cannot be hidden. */
  copy?: { type: string; extension: string; bytes: Uint8Array }
}

/** A part of a message that is a blob. base64: in lines of 76 characters (domain/text/base64-lines.ts). */
export interface StoredFile {
  at: number
  length: number
  sha256: string
  encoding: 'none' | 'base64'
}

/** What the event says of the content. docs/evidence.md specifies it for verifiers: it can be added to, and not changed. */
export type ContentStatement = {
  readonly type: string
  readonly size: number
  /** The digest of the sender's copy. */
  readonly sha256: string
  /** How many bytes the copy hides, and SHA-256(salt || hidden bytes). */
  readonly hidden?: number
  readonly secret?: string
  /** The message itself, where the copy has another form. */
  readonly message?: { readonly type: string; readonly size: number; readonly sha256: string }
} & { readonly [member: string]: Json }

/** The content in the form in which it is stored. */
export interface PackedContent {
  statement: ContentStatement
  extension: string
  files: readonly StoredFile[] | null
  hidden: readonly Range[] | null
  salt: Buffer | null
  message: { type: string; extension: string; size: number; sha256: string } | null
  /** How the bytes are compressed: not at all, by themselves, or with a dictionary. */
  packing: 'none' | 'deflate' | ContentDictionary
  bytes: Buffer
}

/** Begin and length. */
export type Range = readonly [at: number, length: number]

/** In place of every hidden byte. No secret has it, so that the hidden bytes are those in which the copy differs from the message. */
const MASK = 0x2a

/** The bytes of the message that the sender's copy hides, in order and without overlaps. */
export function findSecrets(bytes: Buffer, secrets: readonly string[]): Range[] {
  // One character for each byte: a text is searched in a fraction of the time.
  const text = bytes.toString('latin1')
  return mergeRanges(secrets.flatMap(secret => findSecret(text, secret)))
}

export function mergeRanges(found: readonly Range[]): Range[] {
  const merged: [number, number][] = []
  for (const [at, length] of found.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && at <= last[0] + last[1]) last[1] = Math.max(last[1], at + length - last[0])
    else merged.push([at, length])
  }
  return merged
}

/**
 * A secret may be broken over two lines of quoted-printable text, and its character after the break may be quoted (RFC 2045 6.7).
 * One break damages its beginning or its end, never both: each is searched for, which takes a tenth of the time of an expression.
 */
function findSecret(text: string, secret: string): Range[] {
  const anchor = Math.max(1, Math.floor(secret.length / 3))
  const starts = new Set(findAll(text, secret.slice(0, anchor)))
  for (const at of findAll(text, secret.slice(-anchor))) {
    const start = at + anchor - secret.length
    for (const more of MOVED_BY_A_BREAK) starts.add(start - more)
  }
  const found: Range[] = []
  for (const start of starts) found.push(...(matchSecret(text, start, secret) ?? []))
  return found
}

const SOFT_BREAK = '=\r\n'
const BREAK = SOFT_BREAK.length
/** The length of a quoted character, such as =46. */
const QUOTED = 3
/** By how many bytes the secret begins earlier than its end says: nothing, or a break or a quoted character or both are in it. */
const MOVED_BY_A_BREAK = [0, QUOTED - 1, BREAK, BREAK + QUOTED - 1]

function findAll(text: string, piece: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(piece); at !== -1; at = text.indexOf(piece, at + 1)) places.push(at)
  return places
}

/** The parts of the secret that begins here; null: it does not. A line break inside it is not a part of it. */
function matchSecret(text: string, start: number, secret: string): Range[] | null {
  const ranges: Range[] = []
  let from = start
  let at = start
  for (let index = 0; index < secret.length; index++) {
    if (at < 0) return null
    if (index > 0 && isEquals(text, at) && text.startsWith(SOFT_BREAK, at)) {
      ranges.push([from, at - from])
      at += BREAK
      from = at
    }
    const code = secret.charCodeAt(index)
    if (text.charCodeAt(at) === code) at++
    else if (isEquals(text, at) && text.startsWith(quoted(code), at)) at += QUOTED
    else return null
  }
  ranges.push([from, at - from])
  return ranges
}

/** What begins every quoted character and every soft break. Most candidates end here, so it is looked at before a text is made. */
const isEquals = (text: string, at: number): boolean => text.charCodeAt(at) === 0x3d

const quoted = (code: number): string => `=${code.toString(16).toUpperCase()}`

/** The sender's copy of a message. */
export function maskRanges(bytes: Buffer, ranges: readonly Range[], masked = Buffer.allocUnsafe(bytes.length)): Buffer {
  bytes.copy(masked)
  // Byte by byte: a range has a few dozen, and a call of fill() takes longer than they do.
  for (const [at, length] of ranges) for (let place = at; place < at + length; place++) masked[place] = MASK
  return masked
}

/** The pieces of the message outside of these parts. */
export function* outside(bytes: Buffer, parts: readonly Range[]): Generator<Buffer> {
  let from = 0
  for (const [at, length] of parts) {
    if (at > from) yield bytes.subarray(from, at)
    from = at + length
  }
  if (from < bytes.length) yield bytes.subarray(from)
}
