import type { Mode } from '../../domain/access/token.js'
import { type Queryable, queryRows, queryValue } from '../postgres.js'

export interface LiveChange {
  transactionId: string
  notification: string
  account: string
  mode: Mode
}

/** Where a reader of changes starts: nothing before this moment is of interest. */
export const readLivePosition = async (db: Queryable): Promise<string> =>
  (await queryValue<string>(db, 'select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text'))!

/** The notifications that got an event after this transaction, in the order of the transactions (ADR 14). */
export const readLiveChanges = (db: Queryable, after: string, limit: number): Promise<LiveChange[]> =>
  queryRows(db, {
    name: 'read-live-changes',
    text: `select e.transaction_id as "transactionId", e.notification_id as notification, n.account_id as account, n.mode
           from (
             select transaction_id, notification_id from event
             where transaction_id > $1::xid8 and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
             order by transaction_id limit $2
           ) e cross join lateral (select account_id, mode from notification where id = e.notification_id limit 1) n
           order by e.transaction_id`,
    values: [after, limit],
  })
