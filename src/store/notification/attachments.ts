import { type Queryable, queryRows } from '../postgres.js'

export interface StoredAttachment {
  ordinal: number
  name: string
  sha256: string
  size: number
}

/** The attachments whose bytes are stored. An attachment whose blob is gone is left out, because its bytes cannot be read. */
export const listStoredAttachments = (db: Queryable, notification: string): Promise<StoredAttachment[]> =>
  queryRows(
    db,
    `select a.ordinal, a.name, encode(a.sha256, 'hex') as sha256, a.size from attachment a
     where a.notification_id = $1 and exists (select from blob b where b.sha256 = a.sha256) order by a.ordinal`,
    [notification],
  )
