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

export async function deleteUnusedBlobs(db: Queryable): Promise<number> {
  const { rowCount } = await run(
    db,
    `delete from blob b where touched_at < now() - interval '1 day'
     and not exists (select from attachment a where a.sha256 = b.sha256)
     and not exists (select from letter l where l.sha256 = b.sha256)
     and not exists (select from recording r where r.sha256 = b.sha256)`,
  )
  return rowCount ?? 0
}

export async function readBlobs(db: Queryable, hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
  const { rows } = await run<{ sha256: Buffer; bytes: Buffer }>(db, 'select sha256, bytes from blob where sha256 = any($1)', [
    hashes.map(hash => Buffer.from(hash, 'hex')),
  ])
  return new Map(rows.map(row => [row.sha256.toString('hex'), row.bytes]))
}
