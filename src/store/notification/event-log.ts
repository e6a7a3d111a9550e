import type { Json } from '../../domain/evidence/canonical-json.js'
import type { ChainedEvent } from '../../domain/evidence/evidence.js'
import { LOWEST_ID } from '../../domain/id.js'
import type { Scope } from '../../domain/scope.js'
import { type FoundStatus, STATUS_COLUMNS } from '../delivery/deliveries.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { type Pool, type Queryable, queryRow, queryRows, run, snapshot } from '../postgres.js'

export interface LoggedNotification {
  id: string
  events: LoggedEvent[]
  statuses: FoundStatus[]
}

export type LoggedEvent = Omit<ChainedEvent, 'salt'> & { salt: Buffer | null }

/** The columns of a LoggedEvent. Its time is text with milliseconds, as it was hashed. */
export const EVENT_COLUMNS = `notification_id as notification, seq, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, type, source, data,
  salt, encode(commit, 'hex') as commit, encode(prev, 'hex') as prev, encode(hash, 'hex') as hash`

const PAGE_SIZE = 500

/** Notifications with their whole chain and their stored statuses, page by page, so that one can be checked against the other. */
export async function* readEventLog(pool: Pool): AsyncGenerator<LoggedNotification[]> {
  for (let after = LOWEST_ID; ; ) {
    const { rows } = await run<{ id: string }>(pool, 'select id from notification where id > $1 order by id limit $2', [
      after,
      PAGE_SIZE,
    ])
    if (rows.length === 0) return
    const ids = rows.map(row => row.id)
    // Facts keep arriving: events and statuses must be of the same moment.
    yield await snapshot(pool, db => readPage(db, ids))
    after = ids.at(-1)!
  }
}

async function readPage(db: Queryable, ids: string[]): Promise<LoggedNotification[]> {
  const events = await queryRows<LoggedEvent>(
    db,
    `select ${EVENT_COLUMNS} from event where notification_id = any($1::uuid[]) order by notification_id, seq`,
    [ids],
  )
  const statuses = await queryRows<FoundStatus>(
    db,
    `select ${STATUS_COLUMNS} from delivery d where d.notification_id = any($1::uuid[])`,
    [ids],
  )
  const pages = new Map(ids.map(id => [id, { id, events: [] as LoggedEvent[], statuses: [] as FoundStatus[] }]))
  for (const event of events) pages.get(event.notification)!.events.push(event)
  for (const status of statuses) pages.get(status.notification)!.statuses.push(status)
  return [...pages.values()]
}

/** The whole chain of one notification, as it is proven to others. */
export const readChain = (db: Queryable, id: string): Promise<LoggedEvent[]> =>
  queryRows(db, `select ${EVENT_COLUMNS} from event where notification_id = $1 order by seq`, [id])

/** The events of one notification, oldest first; null: the scope has no such notification. */
export async function readTimeline(db: Queryable, { account, mode }: Scope, id: string): Promise<Timeline | null> {
  const found = await queryRow<Pick<Timeline, 'hasQuestion'>>(
    db,
    'select validation is not null as "hasQuestion" from notification where id = $1 and account_id = $2 and mode = $3',
    [id, account, mode],
  )
  if (found === null) return null
  const events = await queryRows<TimelineEvent>(
    db,
    `select seq, at, type, source, data, encode(hash, 'hex') as hash from event where notification_id = $1 order by seq`,
    [id],
  )
  return { ...found, events }
}

export interface Timeline {
  /** The content is shown after the answer to a question only. */
  hasQuestion: boolean
  events: TimelineEvent[]
}

export interface TimelineEvent {
  seq: number
  at: Date
  type: string
  source: string
  /** null: it was erased. */
  data: { [member: string]: Json } | null
  hash: string
}

/** The place of an event in the order in which incremental readers get events. */
export interface EventPosition {
  /** A 64-bit transaction id, in decimal. */
  transactionId: string
  notification: string
  seq: number
}

/**
 * Events after a position (null: from the beginning), in the order of their transactions. Events of transactions that are not older
 * than every open one are left for a later call: such a transaction may still write events, and a reader that had passed its id
 * would never see them.
 */
export function readEventsAfter(
  db: Queryable,
  position: EventPosition | null,
  limit: number,
): Promise<(LoggedEvent & EventPosition)[]> {
  const { transactionId, notification, seq } = position ?? { transactionId: '0', notification: LOWEST_ID, seq: 0 }
  return queryRows(db, {
    name: 'read-events-after',
    text: `select ${EVENT_COLUMNS}, transaction_id as "transactionId" from event
           where (transaction_id, notification_id, seq) > ($1::xid8, $2::uuid, $3::int)
             and transaction_id < pg_snapshot_xmin(pg_current_snapshot())
           order by transaction_id, notification_id, seq limit $4`,
    values: [transactionId, notification, seq, limit],
  })
}

export interface Note {
  notification: string
  source: string
  /** By which notes are compared; empty where the data were erased. */
  words: { [member in 'channel' | 'ordinal' | 'part' | 'answer' | 'reason' | 'reportedAt']?: Json | undefined }
}

/**
 * The notes of these sources that the chains of these notifications hold. Wrong replies to a question are left out: the limit of
 * tries bounds them, and they must not take the room of other notes. Only what is compared is read: a note may hold a long reply.
 */
export const readNotes = (db: Queryable, notifications: readonly string[], sources: readonly string[]): Promise<Note[]> => {
  const months = recentMonthsOfIds(notifications)
  return queryRows(db, {
    name: nameWithin(months, 'read-notes'),
    text: `select notification_id as notification, source,
             jsonb_build_object('channel', data->'channel', 'ordinal', data->'ordinal', 'part', data->'part', 'answer', data->'answer',
               'reason', data->'reason', 'reportedAt', data->'reportedAt') as words
           from event
           where notification_id = any($1::uuid[]) and ${withinMonths(months, 'notification_id')}
             and type = 'note' and source = any($2::text[]) and not coalesce(data ? 'try', false)`,
    values: [notifications, sources],
  })
}
