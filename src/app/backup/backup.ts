import { createHash } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Keys } from '../../domain/access/keys.js'
import { FileDamaged, OperatorError } from '../../domain/errors.js'
import { readTreeHead } from '../../evidence/tree-head.js'
import { type Draft, explainWriteFailure, openDraft } from '../../runtime/draft.js'
import { syncFolder } from '../../runtime/folder.js'
import { sealStream } from '../../runtime/sealed-stream.js'
import { copyOut } from '../../store/backup/copy-stream.js'
import {
  type BackupConnection,
  beginSnapshot,
  connectUnhurried,
  copyOutText,
  listAppliedMigrations,
  listCopiedTables,
  listMonths,
  listSequences,
  measureTables,
} from '../../store/backup/tables.js'
import { countOutside, listOutside } from '../../store/files/move.js'
import { readBlobPiece } from '../../store/files/read.js'
import { readFingerprint } from '../../store/installation.js'
import type { Pool } from '../../store/postgres.js'
import { readVersion } from '../version.js'
import { DATA_PART, type Manifest, writeDataFrames, writeFrame } from './frames.js'

export interface BackupParts {
  databaseUrl: string
  /** Reads the files that are outside of the database. */
  pool: Pool
  keys: Pick<Keys, 'fingerprint' | 'master'>
  passphrase: string
  file: string
  onProgress?(done: number, of: number): void
}

export interface BackupReport {
  /** Under another name than it was asked for where files are missing. */
  file: string
  size: number
  tables: number
  rows: number
  /** Those that are outside of the database. */
  files: number
  /** Files that are missing or damaged outside, and so are not in the backup. */
  filesMissing: string[]
  /** Events in the log at that moment. */
  events: number
}

const INCOMPLETE = '.incompleta'

/**
 * Writes a consistent copy of the database and its master key into one encrypted file, while the gateway runs:
 * docs/adr/0044-a-backup-is-one-encrypted-file.md.
 */
export async function makeBackup(parts: BackupParts): Promise<BackupReport> {
  const { databaseUrl, passphrase, file } = parts
  const client = await connectUnhurried(databaseUrl)
  let draft: Draft | null = null
  const report: BackupReport = { file, size: 0, tables: 0, rows: 0, files: 0, filesMissing: [], events: 0 }
  try {
    await beginSnapshot(client)
    // Under another name until it is whole: half a backup must not be taken for one.
    draft = await openDraft(file, 0o600)
    const target = draft.handle.createWriteStream({ flush: true })
    await pipeline(
      () => framesOf(client, parts, report),
      createGzip({ level: 1 }),
      source => sealStream(source, passphrase),
      target,
    )
    report.size = target.bytesWritten
    // The last complete backup may have the name: one that lacks files must not replace it.
    if (report.filesMissing.length > 0) report.file = `${file}${INCOMPLETE}`
    await rename(draft.path, report.file)
    await syncFolder(dirname(file))
    return report
  } catch (error) {
    throw explainWriteFailure(error, file)
  } finally {
    await client.end().catch(() => {})
    await draft?.remove()
  }
}

async function* framesOf(client: BackupConnection, parts: BackupParts, report: BackupReport): AsyncGenerator<Buffer> {
  const { keys, onProgress = () => {} } = parts
  // The key was read before the snapshot, and a rotation may have ended in between.
  if ((await readFingerprint(client)) !== keys.fingerprint)
    throw new OperatorError('A chave mestra foi trocada enquanto a cópia começava. Nada foi copiado: repita.')
  const total = (await measureTables(client)) + (await countOutside(client)).bytes
  const tables = await listCopiedTables(client)
  const manifest: Manifest = {
    format: 1,
    version: readVersion(),
    createdAt: new Date().toISOString(),
    masterKey: keys.master.toString('hex'),
    fingerprint: keys.fingerprint,
    migrations: await listAppliedMigrations(client),
    tables,
    months: await listMonths(client),
    sequences: await listSequences(client),
    log: await readTreeHead(client),
  }
  report.events = manifest.log.size
  yield writeFrame({ kind: 'manifest', value: manifest })
  let done = 0
  for (const table of tables) {
    yield writeFrame({ kind: 'table', value: { name: table.name } })
    const { source, rows } = copyOut(client, copyOutText(table))
    const hash = createHash('sha256')
    for await (const bytes of source as AsyncIterable<Buffer>) {
      hash.update(bytes)
      done += bytes.length
      onProgress(done, Math.max(total, done))
      yield* writeDataFrames(bytes)
    }
    report.tables++
    report.rows += rows()
    yield writeFrame({ kind: 'end', value: { rows: rows(), sha256: hash.digest('hex') } })
  }
  // As the rows of the same moment name them; a file that was moved or deleted since is looked for by its row of now.
  for await (const file of listOutside(client)) {
    yield* fileFrames(parts.pool, file, report, length => {
      done += length
      onProgress(done, Math.max(total, done))
    })
  }
  yield writeFrame({ kind: 'whole', value: { tables: report.tables, rows: report.rows, files: report.files } })
}

/** Every part is verified before it is written; what was written of a file that turns out damaged is marked as no file. */
async function* fileFrames(
  pool: Pool,
  { sha256, size }: { sha256: string; size: number },
  report: BackupReport,
  onBytes: (length: number) => void,
): AsyncGenerator<Buffer> {
  yield writeFrame({ kind: 'file', value: { sha256, size } })
  const hash = createHash('sha256')
  let isWhole = true
  try {
    for (let from = 0; from < size && isWhole; from += DATA_PART) {
      const bytes = await readBlobPiece(pool, sha256, from, DATA_PART)
      isWhole = bytes !== null
      if (bytes === null) continue
      hash.update(bytes)
      onBytes(bytes.length)
      yield writeFrame({ kind: 'data', bytes })
    }
  } catch (error) {
    if (!(error instanceof FileDamaged)) throw error
    isWhole = false
    report.filesMissing.push(error.message)
  }
  if (isWhole) report.files++
  yield writeFrame({ kind: 'end', value: { rows: 0, sha256: isWhole ? hash.digest('hex') : '' } })
}
