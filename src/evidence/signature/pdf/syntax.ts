import { SignatureFault } from '../fault.js'

/** The objects of a PDF (ISO 32000-1 7.3), as far as signatures and embedded files need them. */
export type PdfValue =
  | { kind: 'null' }
  | { kind: 'boolean'; value: boolean }
  /** As it is written: a real number keeps its digits. */
  | { kind: 'number'; text: string }
  | { kind: 'name'; name: string }
  /** start and end: where it stands, with its delimiters. */
  | { kind: 'string'; bytes: Buffer; start: number; end: number }
  | PdfArray
  | PdfDictionary
  | PdfReference

export interface PdfArray {
  kind: 'array'
  items: PdfValue[]
}

export interface PdfDictionary {
  kind: 'dictionary'
  entries: Map<string, PdfValue>
}

export interface PdfReference {
  kind: 'reference'
  number: number
  generation: number
}

export const NULL: PdfValue = { kind: 'null' }
export const dictionary = (entries: Record<string, PdfValue> = {}): PdfDictionary => ({
  kind: 'dictionary',
  entries: new Map(Object.entries(entries)),
})
export const name = (text: string): PdfValue => ({ kind: 'name', name: text })
export const number = (value: number): PdfValue => ({ kind: 'number', text: String(value) })
export const reference = (of: number, generation = 0): PdfReference => ({ kind: 'reference', number: of, generation })
export const array = (items: PdfValue[]): PdfArray => ({ kind: 'array', items })
export const string = (bytes: Buffer): PdfValue => ({ kind: 'string', bytes, start: 0, end: 0 })

export const unreadable = (cause?: unknown): SignatureFault =>
  new SignatureFault('O arquivo não é um PDF que se possa ler: está danificado ou incompleto.', { cause })

/** A whole number that is not negative; null: it is something else. */
export const wholeOf = (value: PdfValue | undefined): number | null =>
  value?.kind === 'number' && /^\+?\d{1,15}$/.test(value.text) ? Number(value.text) : null

export function textOf(value: PdfValue | undefined): string | null {
  if (value?.kind !== 'string') return null
  const { bytes } = value
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes.subarray(2))
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return bytes.toString('utf8', 3)
  return bytes.toString('latin1')
}

const MAX_DEPTH = 64
const SPACE = new Set([0, 9, 10, 12, 13, 32])
const DELIMITERS = new Set(Buffer.from('()<>[]{}/%'))
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
const [OPEN, CLOSE, BACKSLASH, LESS, , SLASH, PERCENT, NEWLINE, RETURN] = Buffer.from('()\\<>/%\n\r')

export class PdfParser {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes
    this.at = at
  }

  skipSpace(): void {
    for (; this.at < this.bytes.length; this.at++) {
      const byte = this.bytes[this.at]!
      if (byte === PERCENT) {
        while (this.at < this.bytes.length && this.bytes[this.at] !== NEWLINE && this.bytes[this.at] !== RETURN) this.at++
      } else if (!SPACE.has(byte)) return
    }
  }

  /** Takes the word if it comes next. */
  takes(word: string): boolean {
    this.skipSpace()
    if (this.bytes.toString('latin1', this.at, this.at + word.length) !== word) return false
    this.at += word.length
    return true
  }

  /** The characters up to the next space or delimiter. */
  word(): string {
    this.skipSpace()
    const start = this.at
    while (this.at < this.bytes.length && !SPACE.has(this.bytes[this.at]!) && !DELIMITERS.has(this.bytes[this.at]!)) this.at++
    return this.bytes.toString('latin1', start, this.at)
  }

  whole(): number {
    const word = this.word()
    if (!/^\d{1,15}$/.test(word)) throw unreadable()
    return Number(word)
  }

  value(depth = 0): PdfValue {
    if (depth > MAX_DEPTH) throw unreadable()
    this.skipSpace()
    const byte = this.bytes[this.at]
    if (byte === undefined) throw unreadable()
    if (byte === SLASH) return { kind: 'name', name: this.#name() }
    if (byte === OPEN) return this.#literal()
    if (byte === LESS) return this.bytes[this.at + 1] === LESS ? this.#dictionary(depth) : this.#hexadecimal()
    if (this.takes('[')) return this.#array(depth)
    return this.#word()
  }

  #word(): PdfValue {
    const text = this.word()
    if (text === 'true' || text === 'false') return { kind: 'boolean', value: text === 'true' }
    if (text === 'null') return NULL
    if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(text)) throw unreadable()
    if (!/^\d{1,10}$/.test(text)) return { kind: 'number', text }
    const after = this.at
    const generation = this.word()
    if (/^\d{1,5}$/.test(generation) && this.word() === 'R') return reference(Number(text), Number(generation))
    this.at = after
    return { kind: 'number', text }
  }

  #name(): string {
    this.at++
    const start = this.at
    while (this.at < this.bytes.length && !SPACE.has(this.bytes[this.at]!) && !DELIMITERS.has(this.bytes[this.at]!)) this.at++
    const written = this.bytes.toString('latin1', start, this.at)
    return written.replace(/#([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  }

  #literal(): PdfValue {
    const start = this.at++
    const bytes: number[] = []
    for (let depth = 1; ; this.at++) {
      const byte = this.bytes[this.at]
      if (byte === undefined) throw unreadable()
      if (byte === BACKSLASH) {
        this.#escape(bytes)
        continue
      }
      if (byte === OPEN) depth++
      if (byte === CLOSE && --depth === 0) break
      bytes.push(byte)
    }
    this.at++
    return { kind: 'string', bytes: Buffer.from(bytes), start, end: this.at }
  }

  /** Leaves the position at the last character of the escape. */
  #escape(bytes: number[]): void {
    const octal = /^[0-7]{1,3}/.exec(this.bytes.toString('latin1', this.at + 1, this.at + 4))
    if (octal !== null) {
      bytes.push(Number.parseInt(octal[0], 8) & 0xff)
      this.at += octal[0].length
      return
    }
    const byte = this.bytes[++this.at]
    if (byte === undefined) throw unreadable()
    if (byte === RETURN && this.bytes[this.at + 1] === NEWLINE) this.at++
    if (byte === RETURN || byte === NEWLINE) return
    const character = String.fromCharCode(byte)
    bytes.push((ESCAPES[character] ?? character).charCodeAt(0))
  }

  #hexadecimal(): PdfValue {
    const start = this.at
    const end = this.bytes.indexOf('>', start)
    if (end === -1) throw unreadable()
    const digits = this.bytes.toString('latin1', start + 1, end).replace(/[\0\t\n\f\r ]/g, '')
    if (!/^[0-9a-fA-F]*$/.test(digits)) throw unreadable()
    this.at = end + 1
    return { kind: 'string', bytes: Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex'), start, end: this.at }
  }

  #array(depth: number): PdfArray {
    const items: PdfValue[] = []
    while (!this.takes(']')) items.push(this.value(depth + 1))
    return { kind: 'array', items }
  }

  #dictionary(depth: number): PdfDictionary {
    this.at += 2
    const entries = new Map<string, PdfValue>()
    while (!this.takes('>>')) {
      const key = this.value(depth + 1)
      // Readers disagree on which of two entries of one name counts.
      if (key.kind !== 'name' || entries.has(key.name)) throw unreadable()
      entries.set(key.name, this.value(depth + 1))
    }
    return { kind: 'dictionary', entries }
  }
}

export function writeValue(value: PdfValue): string {
  switch (value.kind) {
    case 'null':
      return 'null'
    case 'boolean':
      return String(value.value)
    case 'number':
      return value.text
    case 'name':
      return writeName(value.name)
    case 'string':
      return `<${value.bytes.toString('hex')}>`
    case 'reference':
      return `${value.number} ${value.generation} R`
    case 'array':
      return `[${value.items.map(writeValue).join(' ')}]`
    case 'dictionary':
      return `<<${[...value.entries].map(([key, entry]) => `${writeName(key)} ${writeValue(entry)}`).join(' ')}>>`
  }
}

const writeName = (text: string): string =>
  `/${text.replace(/[^!-~]|[#()<>[\]{}/%]/g, character => `#${character.charCodeAt(0).toString(16).padStart(2, '0')}`)}`
