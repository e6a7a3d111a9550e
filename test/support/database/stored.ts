import { type ChainedEvent, findChainFault } from '../../../src/domain/evidence/evidence.js'
import type { Pool } from '../../../src/store/postgres.js'

/** What the database holds of one notification, and of all. */
export interface Stored {
  notification: {
    id: string
    account_id: string
    mode: string
    accepted_at: Date
    custom_id: string | null
    recipient_name: string
    subject: string
    content: string
    validation: { question: string; salt: string; hash: string } | null
  }
  /** In the order of the channel's name. waitMs: how much later than the e-mail, or than the first one, it is due. */
  deliveries: {
    channel: string
    account_id: string
    mode: string
    state: string
    waitMs: number
    condition: string | null
    recipient: string | null
    request: Record<string, unknown>
    template_id: string | null
    template_version: number | null
    attempt: number
  }[]
  attachments: { ordinal: number; name: string; sha256: string; size: number; bytes: Buffer }[]
  events: StoredEvent[]
}

interface StoredEvent extends Omit<ChainedEvent, 'data'> {
  data: Record<string, unknown>
}

export async function readStored(pool: Pool, id: string): Promise<Stored | null> {
  const notification = await pool.query<Stored['notification']>(
    `select id, account_id, mode, accepted_at, custom_id, recipient_name, subject, content, validation
     from notification where id = $1`,
    [id],
  )
  if (notification.rows[0] === undefined) return null
  const deliveries = await pool.query<Stored['deliveries'][number]>(
    `select channel, account_id, mode, state, condition, recipient, request, template_id, template_version, attempt,
       (extract(epoch from due_at - min(due_at) over ()) * 1000)::int as "waitMs"
     from delivery where notification_id = $1 order by channel`,
    [id],
  )
  const attachments = await pool.query<Stored['attachments'][number]>(
    `select a.ordinal, a.name, encode(a.sha256, 'hex') as sha256, a.size, b.bytes
     from attachment a join blob b on b.sha256 = a.sha256 where a.notification_id = $1 order by a.ordinal`,
    [id],
  )
  return {
    notification: notification.rows[0],
    deliveries: deliveries.rows,
    attachments: attachments.rows,
    events: await readEvents(pool, id),
  }
}

async function readEvents(pool: Pool, id: string): Promise<StoredEvent[]> {
  const { rows } = await pool.query<Omit<StoredEvent, 'at'> & { at: Date }>(
    `select notification_id as notification, seq, at, type, source, data, salt,
       encode(commit, 'hex') as commit, encode(prev, 'hex') as prev, encode(hash, 'hex') as hash
     from event where notification_id = $1 order by seq`,
    [id],
  )
  return rows.map(row => ({ ...row, at: row.at.toISOString() }))
}

/** The first fault in a notification's chain of events, recomputed from what is stored. */
export const chainFault = (stored: Stored) => findChainFault(stored.events as ChainedEvent[])

/** Rows of everything that a send may write. */
export async function countRows(pool: Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query(
    `select (select count(*) from notification) as notification, (select count(*) from delivery) as delivery,
       (select count(*) from attachment) as attachment, (select count(*) from event) as event,
       (select count(*) from blob) as blob, (select count(*) from idempotency) as idempotency`,
  )
  return rows[0]
}
