import type { Mode } from '../../domain/access/token.js'
import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { Channel } from '../../domain/channel.js'
import { lowestId } from '../../domain/id.js'
import type { Scope } from '../../domain/scope.js'
import { type Queryable, queryRow, queryRows, queryValues } from '../postgres.js'

/** The notification that evidence is about, with its sender. */
export interface EvidenceSubject {
  id: string
  code: number
  scope: Scope
  mode: Mode
  accountName: string
  settings: AccountSettings
  acceptedAt: Date
  customId: string | null
  /** null: erased, like the two below. */
  recipientName: string | null
  subject: string | null
  /** The content of the request, before any template or channel. */
  content: string | null
}

export async function findSubject(db: Queryable, id: string): Promise<EvidenceSubject | null> {
  const row = await queryRow<Omit<EvidenceSubject, 'settings' | 'scope'> & { account: string; settings: StoredSettings }>(
    db,
    `select n.id, n.code, n.account_id as account, n.mode, a.name as "accountName", a.settings, n.accepted_at as "acceptedAt",
       n.custom_id as "customId", n.recipient_name as "recipientName", n.subject, n.content
     from notification n join account a on a.id = n.account_id where n.id = $1`,
    [id],
  )
  if (row === null) return null
  const { account, settings, ...rest } = row
  return { ...rest, scope: { account, mode: row.mode }, settings: completeSettings(settings) }
}

/** More notifications than one millisecond ever has. */
export const MOST_IN_A_MILLISECOND = 10_000

/** The notifications whose ids were made in this millisecond. */
export const findIdsOf = (db: Queryable, atMs: number): Promise<string[]> =>
  queryValues(db, 'select id from notification where id >= $1 and id < $2 limit $3', [
    lowestId(atMs),
    lowestId(atMs + 1),
    MOST_IN_A_MILLISECOND,
  ])

export interface DeliveryRoute {
  channel: Channel
  /** null: erased. */
  recipient: string | null
  /** The carrier of the newest attempt; null: there was none. */
  carrier: string | null
}

/** Where each channel of a notification went, in the order of its steps. */
export const listRoutes = (db: Queryable, id: string): Promise<DeliveryRoute[]> =>
  queryRows(db, 'select channel, recipient, carrier from delivery where notification_id = $1 order by step, channel', [id])
