import { createHash } from 'node:crypto'
import { SignatureFault } from '../fault.js'
import { leavesOf, PdfFile } from './file.js'
import {
  array,
  dictionary,
  name,
  number,
  type PdfDictionary,
  type PdfReference,
  type PdfValue,
  reference,
  string,
  textOf,
  unreadable,
  wholeOf,
  writeValue,
} from './syntax.js'

export interface SignatureRequest {
  reason: string
  at: Date
  /** Bytes kept for the signature. */
  reserve: number
}

export interface PreparedSignature {
  /** With zeros in the place of the signature. */
  pdf: Uint8Array
  /** The hexadecimal digits of the signature: [start, end). */
  place: { start: number; end: number }
  /** SHA-256 of everything but the signature and its delimiters. */
  digest: Uint8Array
}

/** Room for the four numbers of /ByteRange, each of up to ten digits, which are known only when the file is written. */
const RANGE_ROOM = 48
/** Print, locked: PDF/A (ISO 19005-2 6.3.2) requires the former, and an invisible field needs no appearance. */
const WIDGET_FLAGS = 132
/** Signatures exist, and the file may only be appended to (12.7.2). */
const SIGNATURE_FLAGS = 3

/**
 * Appends a signature to a finished PDF as an update (ISO 32000-1 7.5.6 and 12.8): the bytes before it stay as they are. The signature
 * itself is made outside; its place is reserved here.
 */
export function prepareSignature(pdf: Uint8Array, request: SignatureRequest): PreparedSignature {
  const file = new PdfFile(pdf)
  const update = new Update(file)
  const signature = update.reserve()
  const field = update.reserve()
  const page = firstPage(file)
  update.write(
    field,
    writeValue(
      dictionary({
        Type: name('Annot'),
        Subtype: name('Widget'),
        FT: name('Sig'),
        T: string(Buffer.from(freeFieldName(file))),
        F: number(WIDGET_FLAGS),
        Rect: array([number(0), number(0), number(0), number(0)]),
        P: page.at,
        V: signature,
      }),
    ),
  )
  const annotations = array([...file.items(page.node.entries.get('Annots')), field])
  update.write(page.at, writeValue(changed(page.node, { Annots: annotations })))
  update.write(rootOf(file), writeValue(changed(file.catalog, { AcroForm: formWith(file, field) })))
  const holes = update.writeSignature(signature, request)
  return finish(update.finish(request), holes)
}

const changed = ({ entries }: PdfDictionary, other: Record<string, PdfValue>): PdfDictionary => ({
  kind: 'dictionary',
  entries: new Map([...entries, ...Object.entries(other)]),
})

function rootOf({ trailer }: PdfFile): PdfReference {
  const root = trailer.entries.get('Root')
  if (root?.kind !== 'reference') throw unreadable()
  return root
}

function firstPage(file: PdfFile): { node: PdfDictionary; at: PdfReference } {
  const pages = file.catalog.entries.get('Pages')
  const leaves = leavesOf(file, pages === undefined ? [] : [pages], ({ entries }) =>
    entries.has('Kids') ? file.items(entries.get('Kids')) : null,
  )
  for (const { node, at } of leaves) if (at !== null) return { node, at }
  throw new SignatureFault('O PDF não tem páginas.')
}

const fieldsOf = (file: PdfFile): PdfValue[] =>
  file.items(file.dictionary(file.catalog.entries.get('AcroForm'))?.entries.get('Fields'))

function formWith(file: PdfFile, field: PdfReference): PdfDictionary {
  const form = file.dictionary(file.catalog.entries.get('AcroForm')) ?? dictionary()
  return changed(form, { Fields: array([...fieldsOf(file), field]), SigFlags: number(SIGNATURE_FLAGS) })
}

function freeFieldName(file: PdfFile): string {
  const taken = new Set(fieldsOf(file).map(field => textOf(file.resolve(file.dictionary(field)?.entries.get('T')))))
  let count = 1
  while (taken.has(`Assinatura${count}`)) count++
  return `Assinatura${count}`
}

/** D:20261116154400+00'00' (7.9.4). */
const dateText = (at: Date): string => `D:${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}+00'00'`

const unicode = (text: string): Buffer => Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()])

interface Holes {
  /** Where the numbers of /ByteRange go, and the signature with its delimiters. */
  range: number
  contents: { start: number; end: number }
}

class Update {
  readonly #file: PdfFile
  readonly #parts: Buffer[]
  readonly #places: { number: number; generation: number; at: number }[] = []
  #length: number
  #size: number

  constructor(file: PdfFile) {
    this.#file = file
    const size = wholeOf(file.trailer.entries.get('Size'))
    if (size === null) throw unreadable()
    this.#size = size
    this.#parts = [file.bytes]
    this.#length = file.bytes.length
    if (file.bytes.at(-1) !== 10) this.#append('\n')
  }

  #append(text: string): void {
    const bytes = Buffer.from(text, 'latin1')
    this.#parts.push(bytes)
    this.#length += bytes.length
  }

  reserve(): PdfReference {
    return reference(this.#size++)
  }

  write({ number: of, generation }: PdfReference, body: string): void {
    this.#places.push({ number: of, generation, at: this.#length })
    this.#append(`${of} ${generation} obj\n${body}\nendobj\n`)
  }

  writeSignature(of: PdfReference, { reason, at, reserve }: SignatureRequest): Holes {
    const entries = {
      Type: name('Sig'),
      Filter: name('Adobe.PPKLite'),
      SubFilter: name('ETSI.CAdES.detached'),
      M: string(Buffer.from(dateText(at))),
      Reason: string(unicode(reason)),
    }
    const head = `<<${writeValue(dictionary(entries)).slice(2, -2)} /ByteRange `
    const contents = ' /Contents '
    const body = this.#length + `${of.number} ${of.generation} obj\n`.length
    const range = body + head.length
    const start = range + RANGE_ROOM + contents.length
    this.write(of, `${head}${' '.repeat(RANGE_ROOM)}${contents}<${'0'.repeat(2 * reserve)}>>>`)
    return { range, contents: { start, end: start + 2 * reserve + 2 } }
  }

  /** Adds the cross-references in the form that the file has, since readers need not accept a mixture. */
  finish({ reason, at }: SignatureRequest): Buffer {
    const { trailer, newest } = this.#file
    const start = this.#length
    const kept = ['Root', 'Info'].flatMap(key => (trailer.entries.has(key) ? [[key, trailer.entries.get(key)!] as const] : []))
    const [first] = this.#file.items(trailer.entries.get('ID'))
    // 14.4: the first identifier stays, the second one is of this update.
    const second = createHash('sha256')
      .update(writeValue(first ?? name('none')))
      .update(`${reason}\0${at.toISOString()}`)
      .digest()
    const entries: Record<string, PdfValue> = {
      ...Object.fromEntries(kept),
      Prev: number(newest.at),
      ...(first === undefined ? {} : { ID: array([this.#file.resolve(first), string(second.subarray(0, 16))]) }),
    }
    if (newest.isStream) this.#crossReferenceStream(entries)
    else this.#crossReferenceTable(entries)
    this.#append(`startxref\n${start}\n%%EOF\n`)
    return Buffer.concat(this.#parts)
  }

  #crossReferenceTable(entries: Record<string, PdfValue>): void {
    const digits = (value: number, width: number): string => String(value).padStart(width, '0')
    const places = this.#places.toSorted((one, other) => one.number - other.number)
    const rows = places.map(place => `${place.number} 1\n${digits(place.at, 10)} ${digits(place.generation, 5)} n \n`)
    this.#append(`xref\n${rows.join('')}trailer\n${writeValue(dictionary({ ...entries, Size: number(this.#size) }))}\n`)
  }

  #crossReferenceStream(entries: Record<string, PdfValue>): void {
    const own = this.reserve()
    const places = [...this.#places, { ...own, at: this.#length }].toSorted((one, other) => one.number - other.number)
    const rows = places.map(place => {
      const row = Buffer.alloc(8)
      row.writeUInt8(1)
      row.writeUIntBE(place.at, 1, 5)
      row.writeUInt16BE(place.generation, 6)
      return row
    })
    const head = dictionary({
      ...entries,
      Type: name('XRef'),
      Size: number(this.#size),
      W: array([number(1), number(5), number(2)]),
      Index: array(places.flatMap(place => [number(place.number), number(1)])),
      Length: number(8 * rows.length),
    })
    this.#append(
      `${own.number} 0 obj\n${writeValue(head)}\nstream\n${Buffer.concat(rows).toString('latin1')}\nendstream\nendobj\n`,
    )
  }
}

function finish(pdf: Buffer, { range, contents: { start, end } }: Holes): PreparedSignature {
  pdf.write(`[0 ${start} ${end} ${pdf.length - end}]`, range, 'latin1')
  const digest = createHash('sha256').update(pdf.subarray(0, start)).update(pdf.subarray(end)).digest()
  return { pdf, place: { start: start + 1, end: end - 1 }, digest: Uint8Array.from(digest) }
}
