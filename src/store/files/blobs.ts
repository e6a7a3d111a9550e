import { FilesUnavailable } from '../../domain/errors.js'
import type { Attachment } from '../../domain/send/attachment.js'
import { filesOf, plannedOnce, type Queryable, queryRow, queryValues, run } from '../postgres.js'
import { deleteObjects } from './outside.js'

/**
 * Stores contents that are not stored yet, committed before the notification that refers to them. A crash in between leaves
 * unreferenced blobs, which upkeep removes after a day, but never a notification without its file.
 */
export async function storeBlobs(db: Queryable, attachments: readonly Pick<Attachment, 'bytes' | 'sha256'>[]): Promise<void> {
  // Sorted, so that two sends with the same files cannot deadlock.
  const wanted = [...new Map(attachments.map(file => [file.sha256, file])).values()].sort((a, b) =>
    a.sha256 < b.sha256 ? -1 : 1,
  )
  const stored = await queryValues<string>(
    db,
    `update blob set touched_at = now()
     where sha256 in (select sha256 from blob where sha256 = any($1) order by sha256 for update)
     returning encode(sha256, 'hex')`,
    [wanted.map(file => Buffer.from(file.sha256, 'hex'))],
  )
  for (const file of wanted) {
    if (stored.includes(file.sha256)) continue
    await run(
      db,
      'insert into blob (sha256, size, bytes) values ($1, $2, $3) on conflict (sha256) do update set touched_at = excluded.touched_at',
      [
        Buffer.from(file.sha256, 'hex'),
        file.bytes.length,
        Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength),
      ],
    )
  }
}

/**
 * A blob that was touched within a day stays, because the send that stored it may still be writing its notification. PostgreSQL
 * evaluates the condition again for a row that is touched during the delete. An object is deleted after its row, so that a row without
 * its object never is; where nobody knows where objects are, their rows stay.
 */
const unused = (db: Queryable, uses: readonly string[]): string =>
  [
    "b.touched_at < now() - interval '1 day'",
    ...(filesOf(db) === null ? ['b.object is null'] : []),
    ...[...uses, ATTACHED].map(use => `not ${use}`),
  ].join(' and ')

const ATTACHED = 'exists (select from attachment a where a.sha256 = b.sha256)'

/** Deletes those of the blobs that nothing refers to. Not inside a transaction. Returns how many objects outside are still to be deleted. */
export async function dropBlobs(db: Queryable, uses: readonly string[], hashes: readonly string[]): Promise<number> {
  const objects = await queryValues<string | null>(
    db,
    `delete from blob b where b.sha256 = any($1) and ${unused(db, uses)} returning b.object`,
    [hashes.map(hash => Buffer.from(hash, 'hex'))],
  )
  return deleteObjects(db, outsideOf(objects))
}

const outsideOf = (objects: readonly (string | null)[]): string[] => objects.filter(object => object !== null)

/** Blobs have up to 10 MiB; a batch of this size is deleted well within the statement timeout. */
const SWEEP_BATCH = 200

/** Deletes all blobs that nothing refers to, in batches. Stops where the place outside does not delete its objects. */
export async function deleteUnusedBlobs(
  db: Queryable,
  uses: readonly string[],
  signal?: AbortSignal,
  batch: number = SWEEP_BATCH,
): Promise<number> {
  let deleted = 0
  for (let after: Buffer | null = Buffer.alloc(0); after !== null && signal?.aborted !== true; ) {
    const swept: Swept = (await sweepBlobs(db, uses, after, batch))!
    const left = await deleteObjects(db, outsideOf(swept.objects))
    if (left > 0) throw new FilesUnavailable(`${left} arquivos sem uso ainda não foram apagados fora do banco: serão mais tarde.`)
    deleted += swept.deleted
    after = swept.last
  }
  return deleted
}

interface Swept {
  /** null: no blobs follow. */
  last: Buffer | null
  deleted: number
  objects: (string | null)[]
}

const sweepBlobs = (db: Queryable, uses: readonly string[], after: Buffer, limit: number): Promise<Swept | null> =>
  queryRow(
    db,
    plannedOnce({
      text: `with seen as materialized (select sha256 from blob where sha256 > $1 order by sha256 limit $2),
             gone as (
               delete from blob b where b.sha256 = any(array(select sha256 from seen)) and ${unused(db, uses)} returning b.object
             )
           select (select sha256 from seen order by sha256 offset $2 - 1 limit 1) as last, (select count(*) from gone) as deleted,
             array(select object from gone) as objects`,
      values: [after, limit],
    }),
  )
