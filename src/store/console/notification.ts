import type { DatedStatus } from '../../domain/delivery/status.js'
import { type FoundStatus, STATUS_COLUMNS, UNKNOWN_SINCE } from '../delivery/deliveries.js'
import { type Queryable, queryRows, queryValues } from '../postgres.js'

/** A delivery as the page of its notification shows it. */
export type ShownDelivery = FoundStatus &
  DatedStatus & {
    /** null: erased, or the request named none. */
    recipient: string | null
    /** The carrier of the newest attempt; null: there was none. */
    carrier: string | null
    attempt: number
  }

/** In the order of the steps. */
export const listDeliveries = (db: Queryable, notification: string): Promise<ShownDelivery[]> =>
  queryRows(
    db,
    `select ${STATUS_COLUMNS}, ${UNKNOWN_SINCE}, d.recipient, d.carrier, d.attempt
     from delivery d where d.notification_id = $1 order by d.step, d.channel`,
    [notification],
  )

export interface ShownAttachment {
  name: string
  size: number
  sha256: string
}

/** The attachments of the request, also those that have lost their bytes at the end of a term. */
export const listAllAttachments = (db: Queryable, notification: string): Promise<ShownAttachment[]> =>
  queryRows(
    db,
    `select name, size, encode(sha256, 'hex') as sha256 from attachment where notification_id = $1 order by ordinal`,
    [notification],
  )

/** Those of these notifications that belong to one of the accounts, in either mode. */
export const findOwned = async (db: Queryable, accounts: readonly string[], ids: readonly string[]): Promise<Set<string>> =>
  new Set(
    await queryValues<string>(db, 'select id from notification where id = any($2::uuid[]) and account_id = any($1::uuid[])', [
      accounts,
      ids,
    ]),
  )
