import { FilesUnavailable } from '../../domain/errors.js'
import type { Attachment } from '../../domain/send/attachment.js'
import { filesOf, type Pool, type Queryable, queryRow, queryValue } from '../postgres.js'
import { storeBlobs } from './blobs.js'
import { askFiles, deleteObjects, digestPieces, newObjectName } from './outside.js'

type File = Pick<Attachment, 'bytes' | 'sha256'>

/**
 * Stores a file where FILES_URL says, or in the database. The object is whole before its row: a crash in between leaves an object without a
 * row, which upkeep removes, but never a row without its object. Throws FilesUnavailable where the file was not stored.
 */
export async function storeFile(pool: Pool, file: File): Promise<void> {
  const files = filesOf(pool)
  if (files === null) return storeBlobs(pool, [file])
  const { folder, stored } = await touchBlob(pool, file.sha256)
  if (stored) return
  const object = newObjectName(folder, file.sha256)
  await askFiles(files, ({ put }) => put(object, file.bytes, file.sha256))
  // Where this fails, nobody knows whether it was committed: the object stays until it is found to have no row.
  if ((await insertOutside(pool, file, object)) !== object) await deleteObjects(pool, [object])
}

/** For a file of which there is no other copy: it goes into the database while the place outside does not take it. */
export async function storeAnywhere(pool: Pool, file: File): Promise<void> {
  try {
    await storeFile(pool, file)
  } catch (error) {
    if (!(error instanceof FilesUnavailable)) throw error
    await storeBlobs(pool, [file])
  }
}

/** Renews the date of a blob that is stored already. */
const touchBlob = async (db: Queryable, sha256: string): Promise<{ folder: string; stored: boolean }> =>
  (await queryRow<{ folder: string; stored: boolean }>(
    db,
    `with touched as (update blob set touched_at = now() where sha256 = $1 returning 1)
     select files_folder as folder, exists (select from touched) as stored from installation`,
    [Buffer.from(sha256, 'hex')],
  ))!

/** Returns the object that the row has: another one where the same content was stored at the same moment. */
const insertOutside = (db: Queryable, { bytes, sha256 }: File, object: string): Promise<string | null> =>
  queryValue(
    db,
    `insert into blob (sha256, size, object, pieces) values ($1, $2, $3, $4)
     on conflict (sha256) do update set touched_at = excluded.touched_at returning object`,
    [Buffer.from(sha256, 'hex'), bytes.length, object, digestPieces(bytes)],
  )
