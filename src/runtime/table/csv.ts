import { CsvError, type Options, parse } from 'csv-parse'
import { refuse } from '../../domain/errors.js'
import { MAX_COLUMNS, MAX_ROW_CHARACTERS, tooManyColumns } from './limits.js'
import type { TableRow } from './table.js'

const DELIMITERS = [';', ',', '\t', '|']
/** A header is looked for in this many characters. */
const MAX_HEADER = 65_536

/** Reads the rows of a CSV with any of the usual delimiters, which its header tells. Rows without any value are left out. */
export async function* readCsv(texts: AsyncIterable<string>): AsyncGenerator<TableRow> {
  const source = withLineFeeds(texts)
  let beginning = ''
  let ended = false
  while (!ended && headerOf(beginning) === null && beginning.length < MAX_HEADER) {
    const next = await source.next()
    if (next.done) ended = true
    else beginning += next.value
  }
  const parser = parse(csvOptions(delimiterOf(headerOf(beginning) ?? beginning)))
  const fed = feed(parser, beginning, ended ? null : source)
  // The parser ends with the error that the source throws.
  fed.catch(() => {})
  try {
    yield* parser as AsyncIterable<TableRow>
    await fed
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    refuse('notTable', explain(error))
  } finally {
    parser.destroy()
  }
}

const csvOptions = (delimiter: string): Options => ({
  delimiter,
  info: true,
  trim: true,
  bom: true,
  relax_column_count: true,
  // A quote inside a text that does not begin with one is a character like any other.
  relax_quotes: true,
  skip_empty_lines: true,
  skip_records_with_empty_values: true,
  max_record_size: MAX_ROW_CHARACTERS,
  record_delimiter: '\n',
  // The parser holds several records: each is made small before the next one is read. Its types do not know of `info`.
  on_record: rowOf as unknown as NonNullable<Options['on_record']>,
})

interface CsvRecord {
  record: string[]
  info: { lines: number }
}

/** A row ends with its last value: programs write the delimiters of empty columns too. */
function rowOf({ record, info }: CsvRecord): TableRow {
  // `lines` is that of the record's end; a quoted text may have several.
  const breaks = record.reduce((count, cell) => (cell.includes('\n') ? count + cell.split('\n').length - 1 : count), 0)
  const line = info.lines - breaks
  const cells = record.slice(0, record.findLastIndex(cell => cell !== '') + 1)
  return cells.length > MAX_COLUMNS ? tooManyColumns(line) : { line, cells }
}

/**
 * One form of line breaks: the parser counts CRLF inside quotes as two lines. A line that is longer than a record may be is refused: the
 * parser does not count the delimiters of a record, and would hold millions of empty cells.
 */
async function* withLineFeeds(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let held = ''
  let unbroken = 0
  for await (const text of texts) {
    const whole = held + text
    held = whole.endsWith('\r') ? '\r' : ''
    const fed = whole.slice(0, whole.length - held.length).replace(/\r\n?/g, '\n')
    const lastBreak = fed.lastIndexOf('\n')
    unbroken = lastBreak === -1 ? unbroken + fed.length : fed.length - lastBreak - 1
    if (unbroken > MAX_ROW_CHARACTERS) refuse('notTable', `uma linha tem mais de ${MAX_ROW_CHARACTERS} caracteres`)
    yield fed
  }
  if (held !== '') yield '\n'
}

async function feed(parser: ReturnType<typeof parse>, beginning: string, rest: AsyncIterator<string> | null): Promise<void> {
  try {
    await write(parser, beginning)
    if (rest !== null) for (let next = await rest.next(); !next.done; next = await rest.next()) await write(parser, next.value)
    parser.end()
  } catch (error) {
    parser.destroy(error as Error)
    throw error
  }
}

/** Waits while the reader of the rows is behind. */
function write(parser: ReturnType<typeof parse>, text: string): Promise<void> {
  if (parser.destroyed || parser.write(text)) return Promise.resolve()
  return new Promise(resolve => {
    const go = (): void => {
      parser.off('drain', go).off('close', go)
      resolve()
    }
    parser.once('drain', go).once('close', go)
  })
}

/** The first line that holds something; null: it has not ended yet. */
function headerOf(text: string): string | null {
  let quoted = false
  let start = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') quoted = !quoted
    else if (!quoted && character === '\n') {
      if (text.slice(start, index).trim() !== '') return text.slice(start, index)
      start = index + 1
    }
  }
  return null
}

/** The one that is in the header most often, outside quotes. */
function delimiterOf(header: string): string {
  const plain = header.replace(/"(?:[^"]|"")*"/g, '')
  const count = (delimiter: string): number => plain.split(delimiter).length
  return DELIMITERS.reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best))
}

const explain = ({ code, lines }: CsvError & { lines?: number }): string =>
  code === 'CSV_QUOTE_NOT_CLOSED'
    ? 'há aspas que não se fecham'
    : `o texto não pôde ser separado em colunas perto da linha ${lines ?? '?'}`
