import { channelModules } from '../../channels/registry.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { listSentContent, readSentContent } from '../../store/evidence/sent-content.js'
import { readBlobPiece } from '../../store/files/read.js'
import { listStoredAttachments } from '../../store/notification/attachments.js'
import type { LoggedEvent } from '../../store/notification/event-log.js'
import type { Pool, Queryable } from '../../store/postgres.js'
import { attachmentPath } from '../verify/files.js'
import type { BundleFile } from './zip-writer.js'

const PIECE = 262_144

const blobFile = (pool: Pool, path: string, sha256: string, size: number): BundleFile => ({
  path,
  async *read() {
    for (let from = 0; from < size; from += PIECE) {
      const piece = await readBlobPiece(pool, sha256, from, Math.min(PIECE, size - from))
      if (piece === null) throw new Error(`the blob of ${path} is gone`)
      yield piece
    }
  },
})

export async function attachmentFiles(pool: Pool, db: Queryable, notification: string): Promise<BundleFile[]> {
  const files = await listStoredAttachments(db, notification)
  return files.map(({ ordinal, name, sha256, size }) => blobFile(pool, attachmentPath(ordinal, name), sha256, size))
}

/** Each under the number of the event that has its hash. */
export async function recordingFiles(
  pool: Pool,
  db: Queryable,
  notification: string,
  events: readonly LoggedEvent[],
): Promise<BundleFile[]> {
  const kept: { sha256: string; size: number }[] = []
  for (const { listRecordings } of channelModules) kept.push(...((await listRecordings?.(db, notification)) ?? []))
  return events.flatMap(({ seq, data }) => {
    const { recording } = (data ?? {}) as { recording?: Json }
    const found = kept.find(({ sha256 }) => sha256 === recording)
    return found === undefined ? [] : [blobFile(pool, `recordings/${seq}.wav`, found.sha256, found.size)]
  })
}

/** The sender's copies of what left, each under the number of the event that has its hash. One message at a time is in memory. */
export async function contentFiles(pool: Pool, db: Queryable, notification: string): Promise<BundleFile[]> {
  const contents = await listSentContent(db, notification)
  return contents.map(({ channel, ordinal, seq, extension }) => ({
    path: `content/${seq}-${channel}.${extension}`,
    async *read() {
      const bytes = await readSentContent(pool, notification, channel, ordinal)
      if (bytes === null) throw new Error(`content ${ordinal} of ${channel} is gone`)
      yield bytes
    },
  }))
}
