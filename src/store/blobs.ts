import type { Attachment } from '../domain/attachment.js'
import { type Queryable, run } from './postgres.js'

/**
 * Stores the contents that are not stored yet. Committed before the notification that refers to them: a crash in
 * between leaves unreferenced blobs, which upkeep removes after a day, never a notification without its file.
 */
export async function storeBlobs(db: Queryable, attachments: readonly Attachment[]): Promise<void> {
  // Sorted, so that two sends with the same files lock them in the same order.
  const wanted = [...new Map(attachments.map(file => [file.sha256, file])).values()].sort((a, b) =>
    a.sha256 < b.sha256 ? -1 : 1,
  )
  const { rows } = await run<{ sha256: Buffer }>(
    db,
    `update blob set touched_at = now()
     where sha256 in (select sha256 from blob where sha256 = any($1) order by sha256 for update)
     returning sha256`,
    [wanted.map(file => Buffer.from(file.sha256, 'hex'))],
  )
  const stored = new Set(rows.map(row => row.sha256.toString('hex')))
  for (const file of wanted) {
    if (stored.has(file.sha256)) continue
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
 * What was touched within a day stays: whoever stored it may be about to refer to it, and a row that is touched meanwhile is
 * looked at again before it goes.
 */
const unused = (uses: readonly string[]): string =>
  ["b.touched_at < now() - interval '1 day'", ...[...uses, ATTACHED].map(use => `not ${use}`)].join(' and ')

const ATTACHED = 'exists (select from attachment a where a.sha256 = b.sha256)'

/** Of these, the blobs that nothing refers to any more. */
export async function dropBlobs(db: Queryable, uses: readonly string[], hashes: readonly string[]): Promise<void> {
  await run(db, `delete from blob b where b.sha256 = any($1) and ${unused(uses)}`, [hashes.map(hash => Buffer.from(hash, 'hex'))])
}

/** Some of the largest blobs are 10 MiB: this many go, with their pages, in well under a statement's time. */
const SWEPT_AT_ONCE = 200

/** Looks at all blobs, some at a time, and removes those that nothing refers to. */
export async function deleteUnusedBlobs(
  db: Queryable,
  uses: readonly string[],
  signal?: AbortSignal,
  atOnce: number = SWEPT_AT_ONCE,
): Promise<number> {
  let deleted = 0
  for (let after: Buffer | null = Buffer.alloc(0); after !== null && signal?.aborted !== true; ) {
    const swept: Swept = await sweepBlobs(db, uses, after, atOnce)
    deleted += swept.deleted
    after = swept.last
  }
  return deleted
}

interface Swept {
  /** null: there are none after these. */
  last: Buffer | null
  deleted: number
}

async function sweepBlobs(db: Queryable, uses: readonly string[], after: Buffer, limit: number): Promise<Swept> {
  const { rows } = await run<Swept>(db, {
    name: 'sweep-blobs',
    text: `with seen as materialized (select sha256 from blob where sha256 > $1 order by sha256 limit $2),
             gone as (
               delete from blob b where b.sha256 = any(array(select sha256 from seen)) and ${unused(uses)} returning 1
             )
           select (select sha256 from seen order by sha256 offset $2 - 1 limit 1) as last, (select count(*) from gone) as deleted`,
    values: [after, limit],
  })
  return rows[0]!
}

export async function readBlobs(db: Queryable, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
  const { rows } = await run<{ sha256: Buffer; bytes: Buffer }>(db, 'select sha256, bytes from blob where sha256 = any($1)', [
    hashes.map(hash => Buffer.from(hash, 'hex')),
  ])
  return new Map(rows.map(row => [row.sha256.toString('hex'), row.bytes]))
}
