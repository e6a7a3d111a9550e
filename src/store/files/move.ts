import { createHash } from 'node:crypto'
import { FileDamaged } from '../../domain/errors.js'
import { filesOf, type Pool, type Queryable, queryRow, queryRows, run, transaction } from '../postgres.js'
import { readFilesFolder } from './leftovers.js'
import { askFiles, deleteObjects, digestPieces, newObjectName, PIECE, requireFiles } from './outside.js'
import { readBlob, readBlobPiece } from './read.js'

/** Walks over the files outside, and moves files out of the database and back, beside a running gateway. */

export type Side = 'outside' | 'database'

interface Listed {
  sha256: string
  size: number
  object: string | null
}

const BATCH = 100

/** `uses`: the conditions under which a blob `b` is a channel's own file. Attachments alone stay in the database. */
const movable = (to: Side, uses: readonly string[]): string =>
  to === 'database' ? 'b.object is not null' : `b.object is null and (${['false', ...uses].join(' or ')})`

const OUTSIDE = movable('database', [])

const countBlobs = async (db: Queryable, condition: string): Promise<{ count: number; bytes: number }> =>
  (await queryRow<{ count: number; bytes: number }>(
    db,
    `select count(*) as count, coalesce(sum(size), 0)::float8 as bytes from blob b where ${condition}`,
  ))!

export const countOutside = (db: Queryable): Promise<{ count: number; bytes: number }> => countBlobs(db, OUTSIDE)

async function* listBlobs(db: Queryable, condition: string): AsyncGenerator<Listed> {
  for (let after: Buffer | null = Buffer.alloc(0); after !== null; ) {
    const rows: Listed[] = await queryRows<Listed>(
      db,
      `select encode(b.sha256, 'hex') as sha256, b.size, b.object from blob b where b.sha256 > $1 and ${condition}
       order by b.sha256 limit $2`,
      [after, BATCH],
    )
    yield* rows
    after = rows.length < BATCH ? null : Buffer.from(rows.at(-1)!.sha256, 'hex')
  }
}

export const listOutside = (db: Queryable): AsyncGenerator<Listed> => listBlobs(db, OUTSIDE)

/** Reads a file outside to its end, and none of it is kept; null: it was deleted meanwhile. */
export async function verifyOutside(db: Queryable, { sha256, size }: Listed): Promise<'whole' | 'missing' | 'damaged' | null> {
  const hash = createHash('sha256')
  try {
    for (let from = 0; from < size; from += 4 * PIECE) {
      const part = await readBlobPiece(db, sha256, from, 4 * PIECE)
      if (part === null) return null
      hash.update(part)
    }
  } catch (error) {
    if (!(error instanceof FileDamaged)) throw error
    return error.isMissing ? 'missing' : 'damaged'
  }
  return hash.digest('hex') === sha256 ? 'whole' : 'damaged'
}

export interface Moved {
  files: number
  bytes: number
  /** Files that are missing or damaged outside, and stay as they are. */
  faults: FileDamaged[]
}

/**
 * Whenever it ends, every file is whole on one side at least, and its row says on which. What it leaves behind on the other side is an
 * object without a row. A second run goes on where the first one ended.
 */
export async function moveBlobs(
  pool: Pool,
  to: Side,
  uses: readonly string[],
  onProgress: (done: number, of: number) => void = () => {},
): Promise<Moved> {
  requireFiles(pool)
  const condition = movable(to, uses)
  const total = (await countBlobs(pool, condition)).bytes
  const moved: Moved = { files: 0, bytes: 0, faults: [] }
  const folder = await readFilesFolder(pool)
  for await (const blob of listBlobs(pool, condition)) {
    try {
      const isMoved = to === 'outside' ? await moveOut(pool, blob, folder) : await moveIn(pool, blob)
      if (!isMoved) continue
      moved.files++
      moved.bytes += blob.size
      onProgress(moved.bytes, Math.max(total, moved.bytes))
    } catch (error) {
      if (!(error instanceof FileDamaged)) throw error
      moved.faults.push(error)
    }
  }
  return moved
}

async function moveOut(pool: Pool, { sha256 }: Listed, folder: string): Promise<boolean> {
  const bytes = await readBlob(pool, sha256)
  if (bytes === null) return false
  const object = newObjectName(folder, sha256)
  await askFiles(filesOf(pool)!, ({ put }) => put(object, bytes, sha256))
  const isReplaced = await replaceRow(pool, sha256, null, { bytes: null, object, pieces: digestPieces(bytes) })
  if (!isReplaced) await deleteObjects(pool, [object])
  return isReplaced
}

async function moveIn(pool: Pool, { sha256, object }: Listed): Promise<boolean> {
  const bytes = await readBlob(pool, sha256)
  if (bytes === null || !(await replaceRow(pool, sha256, object, { bytes, object: null, pieces: null }))) return false
  await deleteObjects(pool, [object!])
  return true
}

interface Stored {
  bytes: Buffer | null
  object: string | null
  pieces: Buffer | null
}

/**
 * A row is deleted and written again, because the program may not change one. false: it is not as it was, or is gone. Whoever uses the same
 * content meanwhile waits for the new row.
 */
const replaceRow = (pool: Pool, sha256: string, was: string | null, { bytes, object, pieces }: Stored): Promise<boolean> =>
  transaction(pool, async db => {
    const key = Buffer.from(sha256, 'hex')
    const row = await queryRow<{ size: number; touched: string }>(
      db,
      `delete from blob where sha256 = $1 and object is not distinct from $2 returning size, touched_at::text as touched`,
      [key, was],
    )
    if (row === null) return false
    await run(
      db,
      `insert into blob (sha256, size, bytes, object, pieces, touched_at) values ($1, $2, $3, $4, $5, $6::timestamptz)`,
      [key, row.size, bytes, object, pieces, row.touched],
    )
    return true
  })
