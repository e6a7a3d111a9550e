import type { Json } from '../../domain/evidence/canonical-json.js'
import { lowestId } from '../../domain/id.js'
import type { LoggedEvent } from '../notification/event-log.js'
import { EVENT_COLUMNS } from '../notification/event-log.js'
import { execute, type Queryable, queryRows, queryValue, queryValues } from '../postgres.js'
import { MOST_IN_A_MILLISECOND } from './subjects.js'

/** A month that left the database as a whole; its rows are in an archive. */
export interface DroppedMonth {
  month: string
  low: string
  high: string
  notifications: number
  events: number
  /** The digest of the archive. */
  sha256: string
  droppedAt: Date
}

export type MonthObstacle = 'missing' | 'young' | 'older' | 'kept' | 'held' | 'unlogged'

export const listDroppedMonths = (db: Queryable): Promise<DroppedMonth[]> =>
  queryRows(
    db,
    `select to_char(month, 'YYYY-MM') as month, low, high, notifications::float8 as notifications, events::float8 as events,
       encode(sha256, 'hex') as sha256, dropped_at as "droppedAt" from dropped_month order by month_bound(month, 0)`,
  )

/** The months that are here, oldest first, as 2026-11. */
export const listMonths = (db: Queryable): Promise<string[]> =>
  queryValues(
    db,
    `select replace(right(c.relname, 7), '_', '-') from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'public.notification'::regclass order by 1`,
  )

/** null: the month may be dropped. */
export const findObstacle = (db: Queryable, month: string): Promise<MonthObstacle | null> =>
  queryValue(db, 'select month_obstacle($1::date)', [`${month}-01`])

/** The accounts with personal data in notifications of a month. */
export const listKeepers = (db: Queryable, month: string): Promise<string[]> =>
  queryValues(
    db,
    `select a.name from account a where exists (
       select from notification n where n.account_id = a.id and n.mode in ('live', 'test')
         and n.id >= month_bound($1::date, 0) and n.id < month_bound($1::date, 1) and n.erased_at is null
     ) order by a.name`,
    [`${month}-01`],
  )

/** All at once, or not at all; inside a transaction. */
export const dropMonth = async (db: Queryable, month: string, sha256: string): Promise<void> => {
  // Behind a drop that waits for the tables, every other statement waits too.
  await execute(db, "set local lock_timeout = '2s'")
  await execute(db, "select drop_month($1::date, decode($2, 'hex'))", [`${month}-01`, sha256])
}

/** What the database has of a notification as its month ends. */
export interface ArchivedNotification {
  notification: Json
  deliveries: Json[]
  events: LoggedEvent[]
}

/** The next notifications of a month, in the order of their ids. */
export async function readArchivedPage(
  db: Queryable,
  month: string,
  after: string | null,
  limit: number,
): Promise<{ page: ArchivedNotification[]; last: string } | null> {
  const rows = await queryRows<{ id: string; notification: Json; deliveries: Json[] }>(
    db,
    `select n.id, to_jsonb(n) as notification,
       coalesce((select jsonb_agg(to_jsonb(d) order by d.channel) from delivery d where d.notification_id = n.id), '[]') as deliveries
     from notification n where n.id >= month_bound($1::date, 0) and n.id < month_bound($1::date, 1)
       and ($2::uuid is null or n.id > $2) order by n.id limit $3`,
    [`${month}-01`, after, limit],
  )
  if (rows.length === 0) return null
  const [first, last] = [rows[0]!.id, rows.at(-1)!.id]
  const events = await queryRows<LoggedEvent>(
    db,
    `select ${EVENT_COLUMNS} from event where notification_id >= $1 and notification_id <= $2 order by notification_id, seq`,
    [first, last],
  )
  const byId = new Map<string, LoggedEvent[]>(rows.map(({ id }) => [id, []]))
  for (const event of events) byId.get(event.notification)!.push(event)
  return {
    page: rows.map(({ id, notification, deliveries }) => ({ notification, deliveries, events: byId.get(id)! })),
    last,
  }
}

/** The hashes that the log has of the events of these notifications, by "id seq". */
export async function readLoggedHashes(db: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await queryRows<{ name: string; hash: string }>(
    db,
    `select notification_id || ' ' || seq as name, encode(hash, 'hex') as hash from log_leaf where notification_id = any($1::uuid[])`,
    [ids],
  )
  return new Map(rows.map(({ name, hash }) => [name, hash]))
}

/** A notification that left the database with its month: all that is still known of it, beside the log. */
export interface DroppedNotification {
  notification: string
  month: string
  /** The digest of the month's archive. */
  sha256: string
}

/** The notifications with ids of this millisecond, if its month was dropped. */
export const findDroppedAt = (db: Queryable, atMs: number): Promise<DroppedNotification[]> =>
  queryRows(
    db,
    `select l.notification_id as notification, to_char(m.month, 'YYYY-MM') as month, encode(m.sha256, 'hex') as sha256
     from dropped_month m join log_leaf l on l.notification_id >= $1 and l.notification_id < $2 and l.seq = 1
     where m.low <= $1 and m.high > $1 limit $3`,
    [lowestId(atMs), lowestId(atMs + 1), MOST_IN_A_MILLISECOND],
  )
