import { hash, randomBytes } from 'node:crypto'
import { FilesUnavailable } from '../../domain/errors.js'
import { type ObjectStore, ObjectStoreFault } from '../../runtime/objects/object-store.js'
import { filesOf, type Queryable } from '../postgres.js'

/** The bytes of a piece. A part of an object outside of the database is verified piece by piece. */
export const PIECE = 262_144
const DIGEST = 32

/** The random part makes every stored object another one: docs/adr/0049-files-may-live-outside-the-database.md. */
export const newObjectName = (folder: string, sha256: string): string =>
  `${folder}/${sha256.slice(0, 2)}/${sha256}-${randomBytes(8).toString('hex')}`

/** Reads the name of an object that we wrote, whole or not; null: the object is something else, and is left alone. */
export const readObjectName = (name: string): { sha256: string } | null => {
  const [, sha256] = /^[0-9a-f]{32}\/[0-9a-f]{2}\/([0-9a-f]{64})-[0-9a-f]{16}(?:\.[0-9a-f]{8}\.part)?$/.exec(name) ?? []
  return sha256 === undefined ? null : { sha256 }
}

/** The SHA-256 of each piece, one after the other. */
export function digestPieces(bytes: Uint8Array): Buffer {
  const digests: Buffer[] = []
  for (let at = 0; at < bytes.length; at += PIECE) digests.push(hash('sha256', bytes.subarray(at, at + PIECE), 'buffer'))
  return Buffer.concat(digests)
}

/** Whether bytes that begin with the piece of this number are what was stored. */
export function arePieces(bytes: Uint8Array, first: number, pieces: Buffer): boolean {
  for (let at = 0, piece = first; at < bytes.length; at += PIECE, piece++) {
    const stated = pieces.subarray(piece * DIGEST, (piece + 1) * DIGEST)
    if (!hash('sha256', bytes.subarray(at, at + PIECE), 'buffer').equals(stated)) return false
  }
  return true
}

export function requireFiles(db: Queryable): ObjectStore {
  const files = filesOf(db)
  if (files === null)
    throw new FilesUnavailable('Há arquivos fora do banco de dados, e este processo não sabe onde: defina FILES_URL como antes.')
  return files
}

/** What the store cannot do now becomes FilesUnavailable. */
export async function askFiles<T>(files: ObjectStore, ask: (files: ObjectStore) => Promise<T>): Promise<T> {
  try {
    return await ask(files)
  } catch (error) {
    throw error instanceof ObjectStoreFault ? new FilesUnavailable(error.message, error) : error
  }
}

/** Deletes objects whose rows are gone. Returns how many are left: they are found, and deleted, as leftovers. */
export async function deleteObjects(db: Queryable, objects: readonly string[]): Promise<number> {
  const files = filesOf(db)
  if (files === null) return objects.length
  for (const [done, object] of objects.entries()) {
    try {
      await files.delete(object)
    } catch (error) {
      if (!(error instanceof ObjectStoreFault)) throw error
      return objects.length - done
    }
  }
  return 0
}
