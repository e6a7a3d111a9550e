import { createReadStream } from 'node:fs'
import { Unzip, UnzipInflate } from 'fflate'
import { SaxesParser } from 'saxes'
import { refuse } from '../../domain/errors.js'
import type { TableRow } from './table.js'
import { columnOf, type NumberFormat, numberFormatOf, showNumber } from './xlsx-cells.js'

/** A file that unpacks to more than this is no list of recipients. */
const MAX_UNPACKED = 1_073_741_824
/** Texts of all cells are stored once, together, and before or after the sheet: they must be in memory. */
const MAX_SHARED_CHARACTERS = 67_108_864
/** Small pieces: a piece may unpack to a thousand times its size. */
const PIECE = 16_384

/** Reads the rows of the first sheet. The sheet itself is never in memory as a whole. */
export async function* readXlsx(path: string): AsyncGenerator<TableRow> {
  const book = await readBook(path)
  const sheet = sheetReader(book)
  for await (const _ of unpack(path, name => (name === book.sheet ? sheet.write : null))) yield* sheet.take()
  yield* sheet.take()
}

interface Book {
  sheet: string
  texts: string[]
  formats: NumberFormat[]
  since1904: boolean
}

async function readBook(path: string): Promise<Book> {
  const workbook = workbookReader()
  const links = linkReader()
  const styles = styleReader()
  const texts = sharedTextReader()
  const parts: Record<string, Part> = {
    'xl/workbook.xml': workbook,
    'xl/_rels/workbook.xml.rels': links,
    'xl/styles.xml': styles,
    'xl/sharedStrings.xml': texts,
  }
  for await (const _ of unpack(path, name => parts[name]?.write ?? null));
  const [first] = workbook.sheets
  const target = first === undefined ? undefined : links.targets.get(first)
  if (target === undefined) return refuse('notTable', 'a planilha não tem nenhuma folha')
  const sheet = target.startsWith('/') ? target.slice(1) : `xl/${target}`
  return { sheet, texts: texts.texts, formats: styles.formats, since1904: workbook.since1904 }
}

type Write = (bytes: Uint8Array, isLast: boolean) => void
interface Part {
  write: Write
}

/** Unpacks the parts that are wanted, piece by piece. */
async function* unpack(path: string, writerOf: (name: string) => Write | null): AsyncGenerator<void> {
  let unpacked = 0
  const unzip = new Unzip(file => {
    const write = writerOf(file.name)
    if (write === null) return
    file.ondata = (error, bytes, isLast) => {
      if (error !== null) throw error
      unpacked += bytes.length
      if (unpacked > MAX_UNPACKED) refuse('notTable', 'a planilha descompactada é grande demais')
      write(bytes, isLast)
    }
    file.start()
  })
  unzip.register(UnzipInflate)
  try {
    for await (const piece of createReadStream(path, { highWaterMark: PIECE })) {
      unzip.push(piece as Buffer)
      yield
    }
    unzip.push(new Uint8Array(0), true)
    yield
  } catch (error) {
    if (error instanceof Error && (error.name === 'Refusal' || 'syscall' in error)) throw error
    refuse('notTable', 'a planilha está danificada')
  }
}

type Attributes = Readonly<Record<string, string>>
interface Handlers {
  open?(name: string, attributes: Attributes): void
  text?(text: string): void
  close?(name: string): void
}

/** Names without their prefix: some programs write x:row for row. */
const bare = (name: string): string => name.slice(name.indexOf(':') + 1)

function xmlPart({ open, text, close }: Handlers): Part {
  const parser = new SaxesParser()
  const decoder = new TextDecoder('utf-8')
  parser.on('error', error => {
    throw error
  })
  if (open) parser.on('opentag', ({ name, attributes }) => open(bare(name), attributes as Attributes))
  if (text) {
    parser.on('text', text)
    parser.on('cdata', text)
  }
  if (close) parser.on('closetag', ({ name }) => close(bare(name)))
  return {
    write(bytes, isLast) {
      parser.write(decoder.decode(bytes, { stream: !isLast }))
      if (isLast) parser.close()
    },
  }
}

function workbookReader() {
  const found = { sheets: [] as string[], since1904: false }
  const part = xmlPart({
    open(name, attributes) {
      const link = Object.entries(attributes).find(([key]) => bare(key) === 'id' && key !== 'id')
      if (name === 'sheet' && link !== undefined) found.sheets.push(link[1])
      if (name === 'workbookPr') found.since1904 = ['1', 'true'].includes(attributes.date1904 ?? '')
    },
  })
  return Object.assign(found, part)
}

function linkReader() {
  const targets = new Map<string, string>()
  const part = xmlPart({
    open: (name, { Id, Target }) => void (name === 'Relationship' && Id && Target && targets.set(Id, Target)),
  })
  return { targets, ...part }
}

function styleReader() {
  const codes = new Map<string, string>()
  const formats: NumberFormat[] = []
  let inCells = false
  const part = xmlPart({
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'numFmt') codes.set(numFmtId, formatCode)
      if (name === 'cellXfs') inCells = true
      if (name === 'xf' && inCells) formats.push(numberFormatOf(Number(numFmtId), codes.get(numFmtId) ?? null))
    },
    close(name) {
      if (name === 'cellXfs') inCells = false
    },
  })
  return { formats, ...part }
}

/** `rPh`: how a text is spoken, which is not part of it. */
function sharedTextReader() {
  const texts: string[] = []
  let current: string | null = null
  let within = false
  let spoken = false
  let characters = 0
  const part = xmlPart({
    open(name) {
      if (name === 'si') current = ''
      if (name === 'rPh') spoken = true
      within = name === 't'
    },
    text(piece) {
      if (within && !spoken && current !== null) current += piece
    },
    close(name) {
      if (name === 't') within = false
      if (name === 'rPh') spoken = false
      if (name !== 'si' || current === null) return
      characters += current.length
      if (characters > MAX_SHARED_CHARACTERS) refuse('notTable', 'a planilha tem textos demais; salve-a como CSV')
      texts.push(current)
      current = null
    },
  })
  return { texts, ...part }
}

function sheetReader({ texts, formats, since1904 }: Book) {
  let rows: TableRow[] = []
  let row: TableRow | null = null
  let cell: { column: number; type: string; style: number; value: string } | null = null
  let within = false
  let spoken = false
  let lastLine = 0
  const part = xmlPart({
    open(name, attributes) {
      if (name === 'row') {
        lastLine = Number(attributes.r ?? lastLine + 1)
        row = { line: lastLine, cells: [] }
      }
      if (name === 'c' && row !== null) {
        const column = attributes.r === undefined ? row.cells.length : columnOf(attributes.r)
        cell = { column, type: attributes.t ?? 'n', style: Number(attributes.s ?? 0), value: '' }
      }
      if (name === 'rPh') spoken = true
      within = name === 'v' || name === 't'
    },
    text(piece) {
      if (within && !spoken && cell !== null) cell.value += piece
    },
    close(name) {
      if (name === 'v' || name === 't') within = false
      if (name === 'rPh') spoken = false
      if (name === 'c' && row !== null && cell !== null) {
        while (row.cells.length < cell.column) row.cells.push('')
        row.cells[cell.column] = show(cell).trim()
        cell = null
      }
      if (name !== 'row' || row === null) return
      if (row.cells.some(text => text !== '')) rows.push(row)
      row = null
    },
  })
  const show = ({ type, style, value }: { type: string; style: number; value: string }): string => {
    if (value === '') return ''
    if (type === 's') return texts[Number(value)] ?? ''
    return type === 'n' ? showNumber(value, formats[style] ?? { kind: 'plain' }, since1904) : value
  }
  return {
    ...part,
    take(): TableRow[] {
      const taken = rows
      rows = []
      return taken
    },
  }
}
