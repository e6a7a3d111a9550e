import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal, refuse } from '../../domain/errors.js'
import { canonicalJson } from '../../domain/evidence/canonical-json.js'
import { newId } from '../../domain/id.js'
import type { JsonObject } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { BulkFields, Mapping } from '../../domain/send/bulk.js'
import { foldName } from '../../domain/send/bulk.js'
import { mapByName, readMapping } from '../../domain/send/bulk-mapping.js'
import { requestMaker } from '../../domain/send/bulk-request.js'
import { hasControlCharacters, mebibytes } from '../../domain/text/text.js'
import { readTable } from '../../runtime/table/table.js'
import { findRules } from '../../store/accounts/accounts.js'
import { recordAudit } from '../../store/audit.js'
import {
  type Batch,
  completeBatch,
  deleteUnstarted,
  deleteUpload,
  findBatch,
  findBatchOfFile,
  findCancelledOfFile,
  insertBatch,
} from '../../store/bulk/batches.js'
import { insertLines, type Line } from '../../store/bulk/lines.js'
import { isUniqueViolation, type Pool, transaction } from '../../store/postgres.js'

export interface ReceiveParts {
  pool: Pool
  fields: BulkFields
  /** The largest size of a file. */
  maxBytes: number
  /** Rejects while the disk has too little space for it. */
  requireDisk(): Promise<void>
}

/** What comes with a file. */
export interface Upload {
  name: string
  /** As its sender wrote it; null: the columns' names say what they mean. */
  mapping: unknown
  base: JsonObject
  /** Its good lines are sent as soon as all are checked. */
  starts: boolean
  /** The sender of its notifications, and their address. */
  token: string
  address: string
  /** Who brought it. */
  by: string
  /** Since when a file lies where it was found. A batch that was made of it since then is its batch, even if it was cancelled. */
  placedMs?: number
  /** A person of the console, whose act is logged. */
  actor?: string
}

const MAX_NAME = 120
/** A base is read again for each line. */
const MAX_BASE = 262_144
/** Lines of one statement, and their characters: a line may have a million of them. */
const CHUNK = 500
const CHUNK_CHARACTERS = 4_194_304

/**
 * Takes a file line by line and stores it as a batch that is then checked. The same file under the same name is the same batch: then the
 * one that exists is returned, and nothing of it is sent again.
 */
export async function receiveBatch(
  parts: ReceiveParts,
  scope: Scope,
  upload: Upload,
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ batch: Batch; repeated: boolean }> {
  const { pool } = parts
  await parts.requireDisk()
  if (!/\S/.test(upload.name) || upload.name.length > MAX_NAME || hasControlCharacters(upload.name)) refuse('batchName')
  limitBase(upload.base)
  const { settings } = (await findRules(pool, scope.account)) ?? refuse('accountMissing')
  const id = newId(Date.now())
  const { name, base, starts, token, address, by } = upload
  const { account, mode } = scope
  await insertBatch(pool, { id, account, mode, name, base, starts, token, address, createdBy: by })
  const folder = await mkdtemp(join(tmpdir(), 'carteiro-lote-'))
  try {
    const file = createHash('sha256')
    const rows = readTable(measured(chunks, file, parts.maxBytes), join(folder, 'planilha'))
    const { columns, total } = await store(pool, id, rows, settings['bulk.lines'])
    const mapping = mappingOf(upload, columns, parts.fields)
    // A placeholder that is no column is a mistake of the whole batch.
    requestMaker({ columns, mapping, base }, parts.fields)
    return await complete(pool, scope, upload, { id, sha256: file.digest('hex'), columns, mapping, total })
  } catch (error) {
    await deleteUpload(pool, id).catch(() => {})
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export function limitBase(base: JsonObject): void {
  if (Buffer.byteLength(JSON.stringify(base)) > MAX_BASE) refuse('baseTooLarge', mebibytes(MAX_BASE))
}

export const mappingOf = (
  { mapping, base }: Pick<Upload, 'mapping' | 'base'>,
  columns: readonly string[],
  fields: BulkFields,
): Mapping => (mapping === null ? mapByName(columns, fields, base) : readMapping(mapping, columns, fields))

async function* measured(
  chunks: AsyncIterable<Uint8Array>,
  file: ReturnType<typeof createHash>,
  most: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > most) refuse('tableTooLarge', mebibytes(most))
    file.update(chunk)
    yield chunk
  }
}

async function store(
  pool: Pool,
  batch: string,
  rows: AsyncIterable<Line>,
  mostLines: number,
): Promise<{ columns: string[]; total: number }> {
  let columns: string[] | null = null
  let total = 0
  let held: Line[] = []
  let heldCharacters = 0
  const write = async (): Promise<void> => {
    if (held.length > 0) await insertLines(pool, batch, held)
    held = []
    heldCharacters = 0
  }
  for await (const { line, cells } of rows) {
    if (columns === null) {
      columns = readHeader(cells)
      continue
    }
    if (++total > mostLines) refuse('tooManyLines', String(mostLines))
    held.push({ line, cells })
    for (const cell of cells) heldCharacters += cell.length
    if (held.length === CHUNK || heldCharacters >= CHUNK_CHARACTERS) await write()
  }
  await write()
  if (columns === null || total === 0) return refuse('tableEmpty')
  return { columns, total }
}

/** A column without a name is called by its place. Names that differ in case or accents alone are the same. */
function readHeader(cells: readonly string[]): string[] {
  const columns = cells.map((cell, place) => cell.slice(0, MAX_NAME) || `coluna ${place + 1}`)
  const seen = new Set<string>()
  for (const column of columns) {
    const name = foldName(column) || column
    if (seen.has(name)) refuse('repeatedColumn', column)
    seen.add(name)
  }
  return columns
}

interface Arrived {
  id: string
  sha256: string
  columns: string[]
  mapping: Mapping
  total: number
}

async function complete(
  pool: Pool,
  scope: Scope,
  upload: Upload,
  arrived: Arrived,
): Promise<{ batch: Batch; repeated: boolean }> {
  const { id, mapping, sha256 } = arrived
  for (;;) {
    const known = await findBatchOfFile(pool, scope, upload.name, sha256)
    const cancelled = known === null ? await findCancelled(pool, scope, upload, sha256) : null
    if (cancelled !== null) {
      await deleteUpload(pool, id)
      return { batch: cancelled, repeated: true }
    }
    if (known === null) {
      try {
        await transaction(pool, async db => {
          if (!(await completeBatch(db, id, arrived))) refuse('batchMissing')
          const detail = { ...scope, name: upload.name, lines: arrived.total }
          if (upload.actor !== undefined)
            await recordAudit(db, { actor: upload.actor, action: 'upload batch', subject: id, detail })
        })
        return { batch: (await findBatch(pool, scope, id))!, repeated: false }
      } catch (error) {
        // The same file arrived twice at the same time.
        if (!isUniqueViolation(error)) throw error
        continue
      }
    }
    const asked = { mapping: mapping as JsonObject, base: upload.base }
    const isSame = canonicalJson(asked) === canonicalJson({ mapping: known.mapping as JsonObject, base: known.base })
    if (isSame) {
      await deleteUpload(pool, id)
      return { batch: known, repeated: true }
    }
    if (known.startedAt !== null || known.starts) throw new Refusal('batchChanged', [known.id])
    // Started meanwhile: the next round finds that.
    await deleteUnstarted(pool, known.id)
  }
}

const findCancelled = async (pool: Pool, scope: Scope, { name, by, placedMs }: Upload, sha256: string): Promise<Batch | null> =>
  // The age of the file, because the clocks of the database and of this machine differ.
  placedMs === undefined ? null : findCancelledOfFile(pool, scope, { name, sha256, by, withinMs: Date.now() - placedMs })
