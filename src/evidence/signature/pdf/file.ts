import { inflateSync } from 'node:zlib'
import { MIB } from '../../../domain/units.js'
import { SignatureFault } from '../fault.js'
import {
  NULL,
  type PdfDictionary,
  PdfParser,
  type PdfReference,
  type PdfValue,
  reference,
  unreadable,
  wholeOf,
} from './syntax.js'

/** Where an object is: in the file, or in a stream of objects. */
type Place = { at: number; generation: number } | { within: number; index: number }

interface Read {
  value: PdfValue
  /** The bytes of a stream, as they are stored. */
  data: Buffer | null
}

const MAX_SECTIONS = 1_000
const MAX_OBJECTS = 2_000_000
const MAX_INFLATED = 512 * MIB

/**
 * Random access to the objects of a PDF by its cross-references (ISO 32000-1 7.5): tables, streams, and updates appended to the
 * file. Nothing is repaired: a file whose cross-references are damaged is not one that was signed. Throws SignatureFault alone.
 */
export class PdfFile {
  readonly bytes: Buffer
  /** The trailer of the newest section. */
  readonly trailer: PdfDictionary
  /** Where the newest section starts, and whether it is a stream. */
  readonly newest: { at: number; isStream: boolean }
  readonly #places = new Map<number, Place | null>()
  readonly #known = new Map<number, Read>()
  readonly #underWay = new Set<number>()
  /** Bounds the work that a crafted file can cause: references may lead to the same long object again and again. */
  #budget: number

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#budget = 1_000_000 + 20 * bytes.length
    if (!this.bytes.subarray(0, 1_024).includes('%PDF-')) throw new SignatureFault('O arquivo não é um PDF.')
    const at = this.#lastSection()
    const { trailer, isStream } = this.#readSections(at)
    this.trailer = trailer
    this.newest = { at, isStream }
    if (trailer.entries.has('Encrypt')) throw new SignatureFault('O PDF está cifrado e não se pode ler.')
  }

  /** Follows references. */
  resolve(value: PdfValue | undefined): PdfValue {
    let found = value ?? NULL
    for (let hops = 0; found.kind === 'reference'; hops++) {
      if (hops > 8) throw unreadable()
      found = this.#object(found.number, found.generation).value
    }
    return found
  }

  dictionary(value: PdfValue | undefined): PdfDictionary | null {
    const found = this.resolve(value)
    return found.kind === 'dictionary' ? found : null
  }

  items(value: PdfValue | undefined): PdfValue[] {
    const found = this.resolve(value)
    return found.kind === 'array' ? found.items : []
  }

  get catalog(): PdfDictionary {
    const root = this.dictionary(this.trailer.entries.get('Root'))
    if (root === null) throw unreadable()
    return root
  }

  /** The content of a stream, decoded; null: it is not a stream. */
  stream(value: PdfValue | undefined): Buffer | null {
    if (value?.kind !== 'reference') return null
    const { value: head, data } = this.#object(value.number, value.generation)
    return data === null || head.kind !== 'dictionary' ? null : this.#decode(head, data)
  }

  #spend(bytes: number): void {
    this.#budget -= bytes
    if (this.#budget < 0) throw unreadable()
  }

  #lastSection(): number {
    const at = this.bytes.lastIndexOf('startxref')
    if (at === -1) throw unreadable()
    return new PdfParser(this.bytes, at + 'startxref'.length).whole()
  }

  /** From the newest section to the oldest: the first that names an object tells where it is. */
  #readSections(newest: number): { trailer: PdfDictionary; isStream: boolean } {
    let first: { trailer: PdfDictionary; isStream: boolean } | undefined
    const seen = new Set<number>()
    for (let next: number | null = newest; next !== null; ) {
      if (seen.has(next) || seen.size > MAX_SECTIONS || next >= this.bytes.length) throw unreadable()
      seen.add(next)
      const section = this.#readSection(next)
      first ??= section
      const hybrid = wholeOf(section.trailer.entries.get('XRefStm'))
      if (hybrid !== null && !section.isStream) this.#readSection(hybrid)
      next = wholeOf(section.trailer.entries.get('Prev'))
    }
    return first!
  }

  #readSection(at: number): { trailer: PdfDictionary; isStream: boolean } {
    const parser = new PdfParser(this.bytes, at)
    return parser.takes('xref') ? { trailer: this.#readTable(parser), isStream: false } : this.#readCrossReferenceStream(at)
  }

  #readTable(parser: PdfParser): PdfDictionary {
    const start = parser.at
    while (!parser.takes('trailer')) {
      const [first, count] = [parser.whole(), parser.whole()]
      for (let index = 0; index < count; index++) {
        const [at, generation, kind] = [parser.whole(), parser.whole(), parser.word()]
        if (kind !== 'n' && kind !== 'f') throw unreadable()
        this.#place(first + index, kind === 'n' ? { at, generation } : null)
      }
    }
    const trailer = parser.value()
    this.#spend(parser.at - start)
    if (trailer.kind !== 'dictionary') throw unreadable()
    return trailer
  }

  #place(number: number, place: Place | null): void {
    if (this.#places.size > MAX_OBJECTS) throw unreadable()
    if (!this.#places.has(number)) this.#places.set(number, place)
  }

  #readCrossReferenceStream(at: number): { trailer: PdfDictionary; isStream: boolean } {
    const { value: head, data } = this.#parseObject(at, null)
    if (head.kind !== 'dictionary' || data === null) throw unreadable()
    const { entries } = head
    const widths = listOf(entries.get('W'))
    const size = wholeOf(entries.get('Size'))
    const [one = 0, two = 0, three = 0] = widths
    if (widths.length !== 3 || size === null || [one, two, three].some(width => width > 6)) throw unreadable()
    const rows = this.#decode(head, data)
    const ranges = entries.has('Index') ? listOf(entries.get('Index')) : [0, size]
    const step = one + two + three
    let row = 0
    for (let range = 0; range + 1 < ranges.length; range += 2) {
      for (let index = 0; index < ranges[range + 1]!; index++, row += step) {
        if (row + step > rows.length || step === 0) throw unreadable()
        const kind = one === 0 ? 1 : rows.readUIntBE(row, one)
        const second = two === 0 ? 0 : rows.readUIntBE(row + one, two)
        const third = three === 0 ? 0 : rows.readUIntBE(row + one + two, three)
        const place = kind === 1 ? { at: second, generation: third } : kind === 2 ? { within: second, index: third } : null
        this.#place(ranges[range]! + index, place)
      }
    }
    return { trailer: head, isStream: true }
  }

  #object(number: number, generation: number): Read {
    const known = this.#known.get(number)
    if (known !== undefined) return known
    const place = this.#places.get(number)
    if (place === undefined || place === null) return { value: NULL, data: null }
    if (this.#underWay.has(number)) throw unreadable()
    this.#underWay.add(number)
    const read = 'at' in place ? this.#parseObject(place.at, { number, generation }) : this.#parseWithin(number, place.within)
    this.#underWay.delete(number)
    this.#known.set(number, read)
    return read
  }

  /** `expected`: the object that the cross-references say is there. */
  #parseObject(at: number, expected: { number: number; generation: number } | null): Read {
    if (at >= this.bytes.length) throw unreadable()
    const parser = new PdfParser(this.bytes, at)
    const [number, generation] = [parser.whole(), parser.whole()]
    if (!parser.takes('obj')) throw unreadable()
    if (expected !== null && (expected.number !== number || expected.generation !== generation)) throw unreadable()
    const value = parser.value()
    this.#spend(parser.at - at)
    if (value.kind !== 'dictionary' || !parser.takes('stream')) return { value, data: null }
    // ISO 32000-1 7.3.8.1: the keyword is followed by CR LF or LF.
    if (this.bytes[parser.at] === 13) parser.at++
    if (this.bytes[parser.at] === 10) parser.at++
    const length = wholeOf(this.resolve(value.entries.get('Length')))
    if (length === null || parser.at + length > this.bytes.length) throw unreadable()
    return { value, data: this.bytes.subarray(parser.at, parser.at + length) }
  }

  /** In a stream of objects (7.5.7): N pairs of number and offset, then the objects. */
  #parseWithin(number: number, within: number): Read {
    const container = reference(within)
    const head = this.dictionary(container)
    const content = this.stream(container)
    const count = wholeOf(head?.entries.get('N'))
    const first = wholeOf(head?.entries.get('First'))
    if (content === null || count === null || first === null) throw unreadable()
    const pairs = new PdfParser(content, 0)
    for (let index = 0; index < count; index++) {
      const [found, offset] = [pairs.whole(), pairs.whole()]
      if (found !== number) continue
      const parser = new PdfParser(content, first + offset)
      const value = parser.value()
      this.#spend(pairs.at + parser.at - first - offset)
      return { value, data: null }
    }
    throw unreadable()
  }

  #decode(head: PdfDictionary, data: Buffer): Buffer {
    const filters = this.#names(head.entries.get('Filter'))
    if (filters.length === 0) return data
    if (filters.length > 1 || filters[0] !== 'FlateDecode')
      throw new SignatureFault('O PDF usa uma compressão que não se lê aqui.')
    let inflated: Buffer
    try {
      inflated = inflateSync(data, { maxOutputLength: Math.min(MAX_INFLATED, Math.max(1, this.#budget * 50)) })
    } catch (cause) {
      throw unreadable(cause)
    }
    this.#spend(Math.ceil(inflated.length / 50))
    const given = this.resolve(head.entries.get('DecodeParms'))
    const parameters = this.dictionary(given.kind === 'array' ? given.items[0] : given)
    const predictor = wholeOf(parameters?.entries.get('Predictor')) ?? 1
    if (predictor === 1) return inflated
    return undoPredictor(inflated, predictor, wholeOf(parameters?.entries.get('Columns')) ?? 1)
  }

  #names(value: PdfValue | undefined): string[] {
    const found = this.resolve(value)
    const list = found.kind === 'array' ? found.items.map(item => this.resolve(item)) : found.kind === 'null' ? [] : [found]
    return list.map(item => (item.kind === 'name' ? item.name : '?'))
  }
}

const listOf = (value: PdfValue | undefined): number[] =>
  value?.kind === 'array' ? value.items.map(item => wholeOf(item) ?? 0) : []

/** PNG predictors of one byte per sample (7.4.4.4), as cross-reference streams have them. */
function undoPredictor(bytes: Buffer, predictor: number, columns: number): Buffer {
  if (predictor < 10 || columns < 1 || columns > 65_536) throw unreadable()
  const rows = Math.floor(bytes.length / (columns + 1))
  const plain = Buffer.alloc(rows * columns)
  for (let row = 0; row < rows; row++) {
    const filter = bytes[row * (columns + 1)]!
    if (filter > 2) throw unreadable()
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column
      const before = filter === 1 && column > 0 ? plain[at - 1]! : filter === 2 && row > 0 ? plain[at - columns]! : 0
      plain[at] = (bytes[row * (columns + 1) + 1 + column]! + before) & 0xff
    }
  }
  return plain
}

/** The most objects that are read of a tree of fields, pages or names. */
const MAX_NODES = 10_000

/** The leaves of a tree of dictionaries: `childrenOf` gives a node's children, or null for a leaf. Each reference is visited once. */
export function* leavesOf(
  file: PdfFile,
  roots: readonly PdfValue[],
  childrenOf: (node: PdfDictionary) => readonly PdfValue[] | null,
): Generator<{ node: PdfDictionary; at: PdfReference | null }> {
  const pending = [...roots].reverse()
  const seen = new Set<number>()
  for (let visited = 0; pending.length > 0; visited++) {
    if (visited > MAX_NODES || pending.length > MAX_NODES) throw unreadable()
    const value = pending.pop()!
    const at = value.kind === 'reference' ? value : null
    if (at !== null && seen.has(at.number)) continue
    if (at !== null) seen.add(at.number)
    const node = file.dictionary(value)
    if (node === null) continue
    const children = childrenOf(node)
    if (children === null) yield { node, at }
    else pending.push(...children.toReversed())
  }
}
