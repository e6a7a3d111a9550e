import { BlockWriter } from '../../../runtime/byte-block.js'

/** MIME headers and bodies. Control characters are removed from every value, so that no value can inject a header. */

/** RFC 5322 2.1.1: lines have at most 78 characters where a blank allows folding. */
const LINE = 76
/** RFC 2047 2: an encoded word has at most 75 characters. With =?UTF-8?Q? and ?= this length leaves room for "Subject: ". */
const WORD = 52

/** One header, folded at its blanks. The value must come from a function below or be visible ASCII. */
export function header(name: string, value: string): string {
  if (name.length + value.length + 2 <= LINE) return `${name}: ${value}\r\n`
  let line = `${name}:`
  let folded = ''
  let words = 0
  for (const word of value.split(' ')) {
    if (words > 0 && line.length + 1 + word.length > LINE) {
      folded += `${line}\r\n`
      line = ''
      words = 0
    }
    line += ` ${word}`
    words++
  }
  return `${folded}${line}\r\n`
}

/** Free text of a header, such as a subject, written as encoded words where ASCII is not enough. */
export function headerText(text: string): string {
  const line = oneLine(text)
  return isPlain(line) ? line : encodedWords(line)
}

/** An address with its display name. The caller has checked the address. */
export function mailbox(name: string, address: string): string {
  const line = oneLine(name)
  if (line === '') return `<${address}>`
  const phrase = /^[\w !#$%&'*+/=?^`{|}~-]+$/.test(line) ? line : quoted(line)
  return `${isPlain(line) ? phrase : encodedWords(line)} <${address}>`
}

const quoted = (line: string): string => `"${line.replace(/["\\]/g, '\\$&')}"`

/** A parameter of a MIME header, such as a file name. RFC 2231 encodes other characters as percent codes and splits long values. */
export function parameter(name: string, value: string): string {
  const line = oneLine(value)
  if (/^[\x20-\x7e]{0,60}$/.test(line)) return `${name}=${quoted(line)}`
  const percent = (character: string): string => QUOTED[character.charCodeAt(0)]!.replace('=', '%')
  const characters = [...line.toWellFormed()].map(character => encodeURIComponent(character).replace(/[!'()*~]/g, percent))
  const pieces = joinUpTo(60, ["utf-8''", ...characters])
  return pieces.length === 1 ? `${name}*=${pieces[0]}` : pieces.map((piece, index) => `${name}*${index}*=${piece}`).join('; ')
}

/** Replaces line breaks and other control characters. */
const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim()

/** Whether the text needs no encoding: it is visible ASCII, does not look encoded, and folding does not change it. */
const isPlain = (line: string): boolean => /^[\x20-\x7e]*$/.test(line) && !/=\?| {2}|[^ ]{60}/.test(line)

/** RFC 2047 5: an encoded word must not split a character. */
const encodedWords = (line: string): string =>
  joinUpTo(WORD, [...line].map(qEncoded))
    .map(word => `=?UTF-8?Q?${word}?=`)
    .join(' ')

/** Joins the parts into texts of at most this length. */
function joinUpTo(length: number, parts: string[]): string[] {
  const joined = ['']
  for (const part of parts) {
    if (joined.at(-1)!.length + part.length > length) joined.push('')
    joined[joined.length - 1] += part
  }
  return joined
}

function qEncoded(character: string): string {
  // RFC 2047 5 (3): the characters that are allowed in display names too.
  if (/^[A-Za-z0-9!*+/-]$/.test(character)) return character
  return character === ' ' ? '_' : Array.from(Buffer.from(character), byte => QUOTED[byte]).join('')
}

const QUOTED = Array.from({ length: 256 }, (_, byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)
const HEX = Buffer.from('0123456789ABCDEF')
const [TAB, LF, CR, SPACE, DOT, EQUALS, UPPER_F] = [9, 10, 13, 32, 46, 61, 70] as const

const [LITERAL, BLANK, BREAK, QUOTE] = [0, 1, 2, 3] as const
const KIND = new Uint8Array(256).fill(QUOTE)
KIND.fill(LITERAL, SPACE + 1, 127)
KIND[EQUALS] = QUOTE
KIND[SPACE] = KIND[TAB] = BLANK
KIND[LF] = KIND[CR] = BREAK

/** A shared buffer: without it every body would be allocated once more, as UTF-8. */
const scratch = Buffer.allocUnsafeSlow(65_536)

const utf8 = (text: string): Buffer =>
  3 * text.length <= scratch.length ? scratch.subarray(0, scratch.write(text)) : Buffer.from(text)

export function quotedPrintable(text: string): Buffer {
  const writer = new BlockWriter(3 * text.length)
  writeQuotedPrintable(writer, text)
  return writer.endPart()
}

/**
 * Quoted-printable (RFC 2045 6.7), written byte by byte in half the time of a version with strings. Every line break becomes
 * CRLF. A dot or "From" at the start of a line is quoted, because some mail servers change it. Each line is encoded by itself: texts
 * that end with a line break may be written one after the other, or encoded once and written as bytes.
 */
export function writeQuotedPrintable(writer: BlockWriter, text: string): void {
  const source = utf8(text)
  const most = source.length * 3 + Math.ceil(source.length / 24) * 3 + 2
  writer.write(most, (target, at) => encode(source, target, at))
}

/** Returns the end of what was written. */
function encode(source: Buffer, target: Buffer, start: number): number {
  let length = start
  let column = 0
  let at = 0
  while (at < source.length) {
    const byte = source[at]!
    const kind = KIND[byte]
    if (kind === LITERAL && column > 0 && column < LINE - 1) {
      target[length++] = byte
      column++
      at++
      continue
    }
    // Markup is full of equals signs and blanks: where there is room, the end of the line need not be looked for.
    if (kind === QUOTE && column < LINE - 3) {
      target[length++] = EQUALS
      target[length++] = HEX[byte >> 4]!
      target[length++] = HEX[byte & 15]!
      column += 3
      at++
      continue
    }
    if (kind === BLANK && column < LINE - 1 && at + 1 < source.length && KIND[source[at + 1]!] !== BREAK) {
      target[length++] = byte
      column++
      at++
      continue
    }
    if (kind === BREAK) {
      at += byte === CR && at + 1 < source.length && source[at + 1] === LF ? 2 : 1
      target[length++] = CR
      target[length++] = LF
      column = 0
      continue
    }
    const endsLine = at + 1 === source.length || KIND[source[at + 1]!] === BREAK
    const literal = kind === LITERAL ? column > 0 || !isMangled(source, at) : kind === BLANK && !endsLine
    // The last column is reserved for the = of a soft line break, unless the line ends here.
    if (column + (literal ? 1 : 3) > (endsLine ? LINE : LINE - 1)) {
      target[length++] = EQUALS
      target[length++] = CR
      target[length++] = LF
      column = 0
      continue
    }
    if (literal) {
      target[length++] = byte
      column++
    } else {
      target[length++] = EQUALS
      target[length++] = HEX[byte >> 4]!
      target[length++] = HEX[byte & 15]!
      column += 3
    }
    at++
  }
  return length
}

/** Whether mail servers change this text at the start of a line. */
const isMangled = (bytes: Buffer, at: number): boolean =>
  bytes[at] === DOT || (bytes[at] === UPPER_F && bytes.toString('latin1', at, at + 4) === 'From')
