import { LOWEST_ID } from '../../domain/id.js'
import type { EventPosition } from '../notification/event-log.js'
import { type Queryable, queryRow, queryRows } from '../postgres.js'

/** The events that were appended, and where the reader stands now. */
interface AppendedPage {
  /** How many events were read, with those that the log had already. */
  read: number
  /** The hashes of the new leaves, one after the other. */
  hashes: Buffer
  last: EventPosition | null
}

const START: EventPosition = { transactionId: '0', notification: LOWEST_ID, seq: 0 }

/** The page of events after a position, in the order and with the limit of readEventsAfter (event-log.ts). */
const PAGE = `select transaction_id, notification_id, seq, hash from event
  where (transaction_id, notification_id, seq) > ($1::xid8, $2::uuid, $3::int) and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
  order by transaction_id, notification_id, seq limit $4`

/**
 * Gives the next events their leaves, in one statement: only their hashes leave the server. `passOver`: events that the log has
 * already are left out; without it they are a unique violation, and the look-up of each event is saved.
 */
export async function appendLeaves(
  db: Queryable,
  { size, position, limit, passOver }: { size: number; position: EventPosition | null; limit: number; passOver: boolean },
): Promise<AppendedPage> {
  const { transactionId, notification, seq } = position ?? START
  const known = 'exists (select from log_leaf l where l.notification_id = page.notification_id and l.seq = page.seq)'
  const row = await queryRow<{ read: number; hashes: Buffer | null; last: [string, string, number] | null }>(db, {
    name: passOver ? 'append-new-leaves' : 'append-leaves',
    text: `with page as materialized (${PAGE}), placed as materialized (
             select notification_id, seq, hash, $5::bigint + row_number() over (order by transaction_id, notification_id, seq) - 1 as leaf
             from page ${passOver ? `where not ${known}` : ''}
           ), appended as (
             insert into log_leaf (leaf, notification_id, seq, hash) select leaf, notification_id, seq, hash from placed
           )
           select (select count(*)::int from page) as read, (select string_agg(hash, '' order by leaf) from placed) as hashes,
             (select json_build_array(transaction_id::text, notification_id, seq) from page
              order by transaction_id desc, notification_id desc, seq desc limit 1) as last`,
    values: [transactionId, notification, seq, limit, size],
  })
  const { read, hashes, last } = row!
  return {
    read,
    hashes: hashes ?? Buffer.alloc(0),
    last: last === null ? null : { transactionId: last[0], notification: last[1], seq: last[2] },
  }
}

/** The places of a notification's events in the log. */
export const readLeavesOf = (db: Queryable, notification: string): Promise<{ seq: number; leaf: number }[]> =>
  queryRows(db, {
    name: 'read-leaves-of',
    text: 'select seq, leaf from log_leaf where notification_id = $1 order by seq',
    values: [notification],
  })

/** The hashes of a notification's events, in hexadecimal, also where the events are no longer here. */
export const readHashesOf = (db: Queryable, notification: string): Promise<{ seq: number; hash: string }[]> =>
  queryRows(db, `select seq, encode(hash, 'hex') as hash from log_leaf where notification_id = $1 order by seq`, [notification])

export interface AuditedLeaf {
  leaf: number
  notification: string
  seq: number
  hash: Buffer
  /** The hash of the event as it is stored now; null: there is no such event. */
  eventHash: Buffer | null
  at: Date | null
}

/** Leaves beside the events that they stand for, in the order of the log. */
export const readAuditedLeaves = (db: Queryable, from: number, to: number): Promise<AuditedLeaf[]> =>
  queryRows(db, {
    name: 'read-audited-leaves',
    text: `select l.leaf, l.notification_id as notification, l.seq, l.hash, e.hash as "eventHash", e.at
           from log_leaf l left join lateral (
             select hash, at from event where notification_id = l.notification_id and seq = l.seq limit 1
           ) e on true
           where l.leaf >= $1 and l.leaf < $2 order by l.leaf`,
    values: [from, to],
  })

/** The events among these notifications that the log lacks, though they are older than a few seconds. */
export const readUnloggedEvents = (
  db: Queryable,
  notifications: readonly string[],
  olderThanMs: number,
): Promise<{ notification: string; seq: number }[]> =>
  queryRows(db, {
    name: 'read-unlogged-events',
    text: `select notification_id as notification, seq from event e
           where notification_id = any($1::uuid[]) and at < now() - $2 * interval '1 millisecond'
             and (select leaf from log_leaf l where l.notification_id = e.notification_id and l.seq = e.seq) is null
           order by notification_id, seq`,
    values: [notifications, olderThanMs],
  })
