import { Refusal, type RefusalCode, refuse } from '../errors.js'

const MAX_DEPTH = 32
/** Above this a body is measured before parsing: 36 MiB of "[" or "{}," would become gigabytes of objects, and the process would die of them. */
const MEASURE_FIRST = 65_536
/** Values of a large body; a send has a few dozen. */
const MAX_VALUES = 250_000
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * All untrusted JSON enters here. The result has no NUL and no lone surrogate (PostgreSQL stores neither), no infinite number, no
 * __proto__ key and at most 32 levels, so that no other code has to check these.
 */
export function parseUntrustedJson(raw: Uint8Array): unknown {
  if (raw.length === 0) refuse('emptyBody')
  if (raw.length > MEASURE_FIRST) measure(raw)
  const text = orRefuse('notUtf8', () => decoder.decode(raw))
  const value: unknown = orRefuse('notJson', () => JSON.parse(text))
  // Raw control characters are no JSON, and UTF-8 has no surrogates: both can only come from \u escapes.
  checkTree(value, text.includes('\\u'), 1)
  return value
}

function orRefuse<T>(code: RefusalCode, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new Refusal(code, [], { cause })
  }
}

function measure(raw: Uint8Array): void {
  let depth = 0
  let values = 0
  for (let index = 0; index < raw.length; index++) {
    const byte = raw[index]
    if (byte === 0x22) {
      index = endOfString(raw, index)
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > MAX_DEPTH) refuse('tooDeep')
      values++
    } else if (byte === 0x7d || byte === 0x5d) depth--
    else if (byte === 0x2c) values++
    if (values > MAX_VALUES) refuse('tooComplex')
  }
}

/** Index of the quote that closes the string opened at `start`; native search, since attachments are one long string. */
function endOfString(raw: Uint8Array, start: number): number {
  for (let quote = raw.indexOf(0x22, start + 1); quote !== -1; quote = raw.indexOf(0x22, quote + 1)) {
    let slashes = 0
    while (raw[quote - 1 - slashes] === 0x5c) slashes++
    if (slashes % 2 === 0) return quote
  }
  return raw.length
}

function checkTree(value: unknown, escaped: boolean, depth: number): void {
  if (typeof value === 'string') {
    if (escaped) checkText(value)
    return
  }
  // JSON.parse makes Infinity of 1e400, and Infinity has no JSON form to be stored in.
  if (typeof value === 'number' && !Number.isFinite(value)) refuse('numberTooLarge')
  if (value === null || typeof value !== 'object') return
  if (depth > MAX_DEPTH) refuse('tooDeep')
  if (Array.isArray(value)) for (const item of value) checkTree(item, escaped, depth + 1)
  else {
    for (const key of Object.keys(value)) {
      if (key === '__proto__') refuse('protoKey')
      if (escaped) checkText(key)
      checkTree((value as Record<string, unknown>)[key], escaped, depth + 1)
    }
  }
}

function checkText(text: string): void {
  if (!text.isWellFormed() || text.includes('\0')) refuse('badCharacters')
}
