import { createReadStream } from 'node:fs'
import { Unzip, UnzipInflate } from 'fflate'
import { SaxesParser } from 'saxes'
import { Refusal, refuse } from '../../domain/errors.js'
import { MIB } from '../../domain/units.js'
import { MAX_COLUMNS, MAX_ROW_CHARACTERS, tooManyColumns } from './limits.js'
import type { TableRow } from './table.js'
import { columnOf, type NumberFormat, numberFormatOf, showNumber } from './xlsx-cells.js'

/** A file that unpacks to more than this is no list of recipients. */
const MAX_UNPACKED = 1_073_741_824
/**
 * The texts of all cells are stored once, together, and before or after the sheet: they must be in memory, with formats and links. The
 * limit is one of unpacked bytes, because a text keeps the piece of XML that it was cut from in memory.
 */
const MAX_KEPT = 134_217_728
/** A text or a format may be empty, so that their bytes alone are no limit. */
const MAX_TEXTS = 2_097_152
/** Spreadsheet programs write at most some 65,000 formats. */
const MAX_ENTRIES = 65_536
/** Small pieces: a piece may unpack to a thousand times its size. */
const PIECE = 16_384
/** Unpacked bytes that are read before their rows leave the reader. */
const SLICE = 65_536
/** The XML parser keeps a text, a tag or a comment in memory until its end. */
const MAX_UNFINISHED = MIB
const MAX_DEPTH = 100
/** The store's largest number of a line. */
const MAX_LINE = 2_147_483_647

const damaged = (): never => refuse('notTable', 'a planilha está danificada')
const tooManyTexts = (): never => refuse('notTable', 'a planilha tem textos ou formatos demais; salve-a como CSV')
const tooLarge = (): never => refuse('notTable', 'a planilha descompactada é grande demais')
const rowTooLong = (): never => refuse('notTable', `uma linha tem mais de ${MAX_ROW_CHARACTERS} caracteres`)

/** Reads the rows of the first sheet. The sheet itself is never in memory as a whole. */
export async function* readXlsx(path: string): AsyncGenerator<TableRow> {
  const book = await readBook(path)
  const sheet = sheetReader(book)
  const writerOf = (name: string): Write | null => (name === book.sheet ? sheet.write : null)
  for await (const _ of unpack(path, writerOf, MAX_UNPACKED, tooLarge)) yield* sheet.take()
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
  for await (const _ of unpack(path, name => parts[name]?.write ?? null, MAX_KEPT, tooManyTexts));
  const target = workbook.first === null ? undefined : links.targets.get(workbook.first)
  if (target === undefined) return refuse('notTable', 'a planilha não tem nenhuma folha')
  const sheet = target.startsWith('/') ? target.slice(1) : `xl/${target}`
  return { sheet, texts: texts.texts, formats: styles.formats, since1904: workbook.since1904 }
}

type Write = (bytes: Uint8Array, isLast: boolean) => void
interface Part {
  write: Write
}

/** Unpacks the parts that are wanted, slice by slice. */
async function* unpack(
  path: string,
  writerOf: (name: string) => Write | null,
  most: number,
  tooMany: () => never,
): AsyncGenerator<void> {
  let unpacked = 0
  let ready: { write: Write; bytes: Uint8Array; isLast: boolean }[] = []
  const unzip = new Unzip(file => {
    const write = writerOf(file.name)
    if (write === null) return
    file.ondata = (error, bytes, isLast) => {
      if (error !== null) throw error
      unpacked += bytes.length
      if (unpacked > most) tooMany()
      ready.push({ write, bytes, isLast })
    }
    file.start()
  })
  unzip.register(UnzipInflate)
  function* slices(): Generator<void> {
    for (const { write, bytes, isLast } of ready)
      for (let from = 0; from === 0 || from < bytes.length; from += SLICE) {
        write(bytes.subarray(from, from + SLICE), isLast && from + SLICE >= bytes.length)
        yield
      }
    ready = []
  }
  try {
    for await (const piece of createReadStream(path, { highWaterMark: PIECE })) {
      unzip.push(piece as Buffer)
      yield* slices()
    }
    unzip.push(new Uint8Array(0), true)
    yield* slices()
  } catch (error) {
    if (error instanceof Refusal || (error instanceof Error && 'syscall' in error)) throw error
    damaged()
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
  let unfinished = 0
  let depth = 0
  parser.on('error', error => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    unfinished = 0
    if (++depth > MAX_DEPTH) damaged()
    open?.(bare(name), attributes as Attributes)
  })
  const read = (piece: string): void => {
    unfinished = 0
    text?.(piece)
  }
  parser.on('text', read)
  parser.on('cdata', read)
  parser.on('closetag', ({ name }) => {
    unfinished = 0
    depth--
    close?.(bare(name))
  })
  return {
    write(bytes, isLast) {
      const given = decoder.decode(bytes, { stream: !isLast })
      unfinished += given.length
      parser.write(given)
      if (unfinished > MAX_UNFINISHED) rowTooLong()
      if (isLast) parser.close()
    },
  }
}

/** Its first sheet, by the name of its link, and how it counts days. */
function workbookReader() {
  const found = { first: null as string | null, since1904: false }
  const part = xmlPart({
    open(name, attributes) {
      const link = Object.entries(attributes).find(([key]) => bare(key) === 'id' && key !== 'id')
      if (name === 'sheet' && link !== undefined) found.first ??= link[1]
      if (name === 'workbookPr') found.since1904 = ['1', 'true'].includes(attributes.date1904 ?? '')
    },
  })
  return Object.assign(found, part)
}

function linkReader() {
  const targets = new Map<string, string>()
  const part = xmlPart({
    open(name, { Id, Target }) {
      if (name !== 'Relationship' || !Id || !Target) return
      targets.set(Id, Target)
      if (targets.size > MAX_ENTRIES) tooManyTexts()
    },
  })
  return { targets, ...part }
}

function styleReader() {
  const described = new Map<string, NumberFormat>()
  const formats: NumberFormat[] = []
  let inCells = false
  const part = xmlPart({
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'numFmt') described.set(numFmtId, numberFormatOf(Number(numFmtId), formatCode))
      if (name === 'cellXfs') inCells = true
      if (name === 'xf' && inCells) formats.push(described.get(numFmtId) ?? numberFormatOf(Number(numFmtId), null))
      if (described.size > MAX_ENTRIES || formats.length > MAX_ENTRIES) tooManyTexts()
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
  const part = xmlPart({
    open(name) {
      if (name === 'si') current = ''
      if (name === 'rPh') spoken = true
      within = name === 't'
    },
    text(piece) {
      if (within && !spoken && current !== null) current = extend(current, piece)
    },
    close(name) {
      if (name === 't') within = false
      if (name === 'rPh') spoken = false
      if (name !== 'si' || current === null) return
      if (texts.push(current) > MAX_TEXTS) tooManyTexts()
      current = null
    },
  })
  return { texts, ...part }
}

const extend = (text: string, piece: string): string =>
  text.length + piece.length > MAX_ROW_CHARACTERS ? rowTooLong() : text + piece

/** A row ends with its last value: programs write empty cells, which have a format alone, up to the last column that a sheet may have. */
function sheetReader({ texts, formats, since1904 }: Book) {
  let rows: TableRow[] = []
  let row: TableRow | null = null
  let cell: { column: number; type: string; style: number; value: string } | null = null
  let within = false
  let spoken = false
  let lastLine = 0
  let nextColumn = 0
  let rowCharacters = 0
  let allCharacters = 0
  const part = xmlPart({
    open(name, attributes) {
      if (name === 'row') {
        const line = Number(attributes.r ?? lastLine + 1)
        if (!Number.isInteger(line) || line <= lastLine || line > MAX_LINE) damaged()
        lastLine = line
        row = { line, cells: [] }
        nextColumn = 0
        rowCharacters = 0
      }
      if (name === 'c' && row !== null) {
        const column = attributes.r === undefined ? nextColumn : columnOf(attributes.r)
        nextColumn = column + 1
        cell = { column, type: attributes.t ?? 'n', style: Number(attributes.s ?? 0), value: '' }
      }
      if (name === 'rPh') spoken = true
      within = name === 'v' || name === 't'
    },
    text(piece) {
      if (within && !spoken && cell !== null) cell.value = extend(cell.value, piece)
    },
    close(name) {
      if (name === 'v' || name === 't') within = false
      if (name === 'rPh') spoken = false
      if (name === 'c' && row !== null && cell !== null) {
        put(row, cell.column, show(cell).trim())
        cell = null
      }
      if (name !== 'row' || row === null) return
      if (row.cells.length > 0) rows.push(row)
      row = null
    },
  })
  const put = ({ line, cells }: TableRow, column: number, text: string): void => {
    if (text === '') return
    if (column >= MAX_COLUMNS) tooManyColumns(line)
    rowCharacters += text.length
    allCharacters += text.length
    if (rowCharacters > MAX_ROW_CHARACTERS) rowTooLong()
    // Many cells may show one text, so that the rows may be far larger than the sheet.
    if (allCharacters > MAX_UNPACKED) tooLarge()
    while (cells.length < column) cells.push('')
    cells[column] = text
  }
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
