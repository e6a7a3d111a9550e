import { open } from 'node:fs/promises'
import { refuse } from '../../domain/errors.js'
import { withoutMark } from '../../domain/text/csv-line.js'
import { readCsv } from './csv.js'
import { decodeText } from './text-decoding.js'
import { readXlsx } from './xlsx.js'

/** A row of a file, with the number that an editor or a spreadsheet shows beside it. */
export interface TableRow {
  line: number
  cells: string[]
}

/** The first bytes of every ZIP file, and so of every XLSX. */
const ZIP = Buffer.from('PK\x03\x04', 'latin1')
/** The first bytes of the binary files of old spreadsheets (XLS). */
const OLD = Buffer.from('d0cf11e0', 'hex')

/**
 * Reads the rows of a CSV or XLSX, whichever the bytes are. A CSV is never in memory as a whole. The parts of an XLSX come in any order,
 * so that it is written to `spool` first and read from there. A list of rejects that we wrote is read as the file that it came from.
 */
export async function* readTable(chunks: AsyncIterable<Uint8Array>, spool: string): AsyncGenerator<TableRow> {
  for await (const { line, cells } of readRows(chunks, spool)) yield { line, cells: cells.map(withoutMark) }
}

async function* readRows(chunks: AsyncIterable<Uint8Array>, spool: string): AsyncGenerator<TableRow> {
  const { first, all } = await peek(chunks)
  if (first.subarray(0, 4).equals(OLD)) refuse('notTable', 'é uma planilha no formato antigo, XLS')
  if (!first.subarray(0, 4).equals(ZIP)) return yield* readCsv(decodeText(all))
  await save(all, spool)
  yield* readXlsx(spool)
}

/** The first bytes, and all of them again. */
async function peek(chunks: AsyncIterable<Uint8Array>): Promise<{ first: Buffer; all: AsyncGenerator<Buffer> }> {
  const source = chunks[Symbol.asyncIterator]()
  let first = Buffer.alloc(0)
  for (let next = await source.next(); !next.done; next = await source.next()) {
    first = Buffer.concat([first, next.value])
    if (first.length >= 4) break
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield first
    for (let next = await source.next(); !next.done; next = await source.next())
      yield Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
  }
  return { first, all: all() }
}

async function save(chunks: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of chunks) await file.write(chunk)
  } finally {
    await file.close()
  }
}
