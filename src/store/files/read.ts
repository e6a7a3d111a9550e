import { FileDamaged } from '../../domain/errors.js'
import { digest } from '../../runtime/digest.js'
import { type Queryable, queryRow, queryRows } from '../postgres.js'
import { arePieces, askFiles, PIECE, requireFiles } from './outside.js'

/** The one place that reads the bytes of blobs, which are in the database or outside. What comes from outside is verified. */

const bytesOf = (hash: string): Buffer => Buffer.from(hash, 'hex')

type Place = { bytes: Buffer; object: null } | { bytes: null; object: string }

type WholeRow = { hash: string; size: number } & Place

const findBlobs = (db: Queryable, hashes: readonly string[]): Promise<WholeRow[]> =>
  queryRows(db, "select encode(sha256, 'hex') as hash, size, bytes, object from blob where sha256 = any($1)", [
    hashes.map(bytesOf),
  ])

export async function readBlobs(db: Queryable, hashes: readonly string[]): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  for (const row of await findBlobs(db, hashes)) {
    const bytes = row.bytes ?? (await readWhole(db, row))
    if (bytes !== null) found.set(row.hash, bytes)
  }
  return found
}

export const readBlob = async (db: Queryable, hash: string): Promise<Buffer | null> =>
  (await readBlobs(db, [hash])).get(hash) ?? null

/** An object may go while it is looked for: its blob was deleted, or moved. */
async function readWhole(db: Queryable, row: WholeRow): Promise<Buffer | null> {
  for (let { hash, size, bytes, object } = row; ; ) {
    if (object === null) return bytes
    const name = object
    const read = await askFiles(requireFiles(db), files => files.read(name, 0, size))
    if (read !== null) {
      if ((await digest(read)) !== hash) throw new FileDamaged(hash, name, false)
      return read
    }
    const [now] = await findBlobs(db, [hash])
    if (now === undefined) return null
    if (now.object === name) throw new FileDamaged(hash, name, true)
    ;({ bytes, object } = now)
  }
}

type PieceRow = { size: number; pieces: Buffer | null } & Place

/** A part of a blob, so that a large one is never in memory as a whole; null: there is no such blob. */
export async function readBlobPiece(db: Queryable, hash: string, from: number, length: number): Promise<Buffer | null> {
  for (let missed: string | null = null; ; ) {
    const row: PieceRow | null = await queryRow<PieceRow>(db, {
      name: 'read-blob-piece',
      text: `select size, substring(bytes from $2::int + 1 for $3::int) as bytes, object, pieces from blob where sha256 = $1`,
      values: [bytesOf(hash), from, length],
    })
    if (row === null) return null
    if (row.object === null) return row.bytes
    if (row.object === missed) throw new FileDamaged(hash, missed, true)
    const part = await readPart(db, hash, row, from, length)
    if (part !== null) return part
    missed = row.object
  }
}

/** Whole pieces are read, because a digest is of a whole piece. */
async function readPart(
  db: Queryable,
  hash: string,
  { object, size, pieces }: PieceRow & { object: string },
  from: number,
  length: number,
): Promise<Buffer | null> {
  const end = Math.min(from + length, size)
  if (from >= end) return Buffer.alloc(0)
  const first = Math.floor(from / PIECE)
  const start = first * PIECE
  const wanted = Math.min(Math.ceil(end / PIECE) * PIECE, size) - start
  const read = await askFiles(requireFiles(db), files => files.read(object, start, wanted))
  if (read === null) return null
  if (read.length !== wanted || !arePieces(read, first, pieces!)) throw new FileDamaged(hash, object, false)
  return read.subarray(from - start, end - start)
}
