import { createReadStream, type Stats } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { Refusal, type RefusalKind } from '../../domain/errors.js'
import type { Scope } from '../../domain/scope.js'
import type { BulkFields } from '../../domain/send/bulk.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import { listAccounts } from '../../store/accounts/accounts.js'
import { type Batch, deleteUnstarted, findBatch } from '../../store/bulk/batches.js'
import { findMapping } from '../../store/bulk/mappings.js'
import { lockCopyAge } from '../../store/home-server.js'
import type { Pool, Queryable } from '../../store/postgres.js'
import { actOnBatch } from './acts.js'
import { receiveBatch } from './receive.js'
import { rejectsFile, resultFile } from './results.js'

export interface FolderParts {
  pool: Pool
  fields: BulkFields
  maxBytes: number
  requireDisk(): Promise<void>
  /** It has one folder per account, of the account's name. */
  folder: string
  /** A file that did not change for so long has arrived. */
  stableMs: number
  onError(error: unknown, what: string): void
  warn(details: object, message: string): void
}

const TABLE = /\.(csv|txt|xlsx)$/i
/** The name of the account's mapping that says what files of the folder mean. */
const FOLDER_MAPPING = 'pasta'
const DONE = 'done'
const BY = { token: 'folder', address: 'folder' }
const REMEMBERED = 1_000
/**
 * After these refusals the file is moved to done/ with the reason: the next round would be refused again. After any other refusal the file
 * stays, and the next round takes it again.
 */
const FINAL: readonly RefusalKind[] = ['invalid', 'too-large', 'conflict']

/**
 * Sends the files of a folder. A file stays where it is until its batch is done; then its rejects and its result are written to done/
 * and the file is moved there, last. Each step may be repeated: the same file under the same name is the same batch, so that a crash
 * between any two steps sends nothing twice. A file that changes while it is read is read again once it is stable. A batch that was cancelled is over too, until the file is put into the folder again. A file
 * that is older than a restoration of the database may have been sent before it: a person starts its batch, or cancels it.
 */
export function folderWatch(parts: FolderParts): (signal?: AbortSignal) => Promise<void> {
  /** The batch of a file as it was seen: a large file is read once, not every time. */
  const known = new BoundedCache<string, string>({ maxEntries: REMEMBERED })
  return async signal => {
    for (const { id, name } of await listAccounts(parts.pool)) {
      const folder = join(parts.folder, name)
      // A name that is no folder's, or leads out of it, has none.
      if (/[/\\]|^\.+$/.test(name)) continue
      for (const file of await listFiles(folder)) {
        if (signal?.aborted) return
        await takeFile(parts, { account: id, mode: 'live' }, folder, file, known).catch(error =>
          parts.onError(error, `a file of the bulk folder was not taken: ${join(name, file)}`),
        )
      }
    }
  }
}

const listFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [] as string[])).filter(name => TABLE.test(name) && !name.startsWith('.')).sort()

async function takeFile(
  parts: FolderParts,
  scope: Scope,
  folder: string,
  file: string,
  known: BoundedCache<string, string>,
): Promise<void> {
  const path = join(folder, file)
  const found = await stat(path)
  if (Date.now() - found.mtimeMs < parts.stableMs) return
  const seen = identityOf(path, found)
  const id = known.get(seen)
  const done = join(folder, DONE)
  let name: string
  try {
    const batch = id === undefined ? await receive(parts, scope, path, file, found) : await findBatch(parts.pool, scope, id)
    if (batch === null) {
      known.delete(seen)
      return
    }
    known.set(seen, batch.id)
    if (!isOver(batch)) return
    name = await freeName(done, file)
    await writeResults(parts.pool, done, name, batch)
  } catch (error) {
    if (!(error instanceof Refusal) || !FINAL.includes(error.kind)) throw error
    // The file that was refused has been replaced since.
    if ((await identityNow(path)) !== seen) return
    name = await freeName(done, file)
    await writeFile(join(done, `${name}.erro.txt`), `${error.message}\n`)
  }
  // Another file may have come under the same name since: the next round takes it.
  if ((await identityNow(path)) !== seen) return
  await rename(path, join(done, name))
  // A file that a person moves back is checked again.
  known.delete(seen)
}

const identityOf = (path: string, { ino, size, mtimeMs }: Stats): string => `${path} ${ino} ${size} ${mtimeMs}`

/** null: the file is gone, or cannot be looked at. */
const identityNow = async (path: string): Promise<string | null> =>
  stat(path).then(
    found => identityOf(path, found),
    () => null,
  )

/** The name, or one with a number if a file of this name was moved to done/ before. The files beside it are named after it. */
async function freeName(done: string, file: string): Promise<string> {
  await mkdir(done, { recursive: true })
  const taken = new Set(await readdir(done))
  const { name, ext } = parse(file)
  let free = file
  for (let number = 2; taken.has(free); number++) free = `${name} (${number})${ext}`
  return free
}

/** A batch whose lines are all bad has nothing to send. */
const isOver = ({ state, good }: Batch): boolean =>
  state === 'done' || state === 'cancelled' || (state === 'checked' && good === 0)

/** null: the file changed while it was read, so that nobody knows which of its lines are whole. Nothing of it is sent. */
async function receive(
  { pool, fields, maxBytes, requireDisk, warn }: FolderParts,
  scope: Scope,
  path: string,
  name: string,
  found: Stats,
): Promise<Batch | null> {
  const { mtimeMs, ctimeMs } = found
  const saved = await findMapping(pool, scope, FOLDER_MAPPING)
  const form = { mapping: saved?.mapping ?? null, base: saved?.base ?? {} }
  // A file that is moved into the folder keeps its mtime, and gets a new ctime.
  const upload = { name, ...form, starts: false, ...BY, by: 'folder', placedMs: ctimeMs }
  const { batch, repeated } = await receiveBatch({ pool, fields, maxBytes, requireDisk }, scope, upload, createReadStream(path))
  if ((await identityNow(path)) !== identityOf(path, found)) {
    // One that existed may be that of another upload.
    if (!repeated) await deleteUnstarted(pool, batch.id)
    return null
  }
  // Also of a batch that exists: a crash may have come before its start. A person's pause stays.
  if (batch.starts || !(batch.state === 'checking' || (batch.state === 'checked' && batch.good > 0))) return batch
  let isOfCopy = false
  const mayAct = async (db: Queryable): Promise<boolean> => {
    const copyAgeMs = await lockCopyAge(db)
    isOfCopy = copyAgeMs !== null && Date.now() - Math.min(mtimeMs, ctimeMs) >= copyAgeMs
    return !isOfCopy
  }
  const started = await actOnBatch(pool, scope, batch.id, 'start', BY, { mayAct })
  if (isOfCopy)
    warn(
      { batch: batch.id, file: path },
      'a file of the bulk folder is older than the restoration of the database and may have been sent before it: a person starts its batch, or cancels it',
    )
  return started
}

async function writeResults(pool: Pool, done: string, file: string, batch: Batch): Promise<void> {
  if (batch.rejected + batch.failed > 0) await write(join(done, `${file}.rejeitadas.csv`), rejectsFile(pool, batch))
  await write(join(done, `${file}.resultado.csv`), resultFile(pool, batch))
}

/** Under its name only once it is whole. */
async function write(path: string, texts: AsyncIterable<string>): Promise<void> {
  const part = `${path}.${process.pid}.part`
  const file = await open(part, 'w', 0o600)
  try {
    for await (const text of texts) await file.write(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(part, path).catch(async error => {
    await rm(part, { force: true })
    throw error
  })
}
