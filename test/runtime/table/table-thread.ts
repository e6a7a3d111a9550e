import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../../../src/domain/errors.js'
import { readTable } from '../../../src/runtime/table/table.js'
import { answerQuestions, isThreadOf, ThreadPool } from '../../../src/runtime/thread-pool.js'

const PURPOSE = 'carteiro-test-table'

export interface TableRead {
  rows: number
  cells: number
  refusal: string | null
}

/** Reads tables in a thread of a small heap, which dies where the reader holds too much at once. This file is both ends of that thread. */
export const tableThread = (heapMib: number) =>
  new ThreadPool<Uint8Array, TableRead>({ file: import.meta.url, purpose: PURPOSE, threads: 1, heapMib })

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
}

async function count(bytes: Uint8Array): Promise<TableRead> {
  const folder = await mkdtemp(join(tmpdir(), 'carteiro-table-thread-'))
  const read: TableRead = { rows: 0, cells: 0, refusal: null }
  try {
    for await (const { cells } of readTable(pieces(bytes), join(folder, 'spool'))) {
      read.rows++
      read.cells += cells.length
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    read.refusal = error.message
  } finally {
    await rm(folder, { recursive: true })
  }
  return read
}

if (isThreadOf(PURPOSE)) answerQuestions(count)
