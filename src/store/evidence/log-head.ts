import type { EventPosition } from '../notification/event-log.js'
import { execute, type Queryable, queryRow, queryValue } from '../postgres.js'

/** How far the log has come: the one row of log_head. */
export interface LogHead {
  size: number
  /** The roots of the complete parts of the tree, one after the other. */
  peaks: Buffer
  /** null: from the beginning, passing over what the log has. */
  position: EventPosition | null
  /** The database server that gave out the transaction ids of the position. */
  server: string | null
}

interface LockedHead extends LogHead {
  /** The database server that answers: another one after a restore. */
  currentServer: string
  /** Some event has a transaction id that this server has not given out yet (ADR 14). */
  hasForeignEvents: boolean
  newest: { size: number; at: Date } | null
  now: Date
}

interface HeadRow {
  size: number
  peaks: Buffer
  transactionId: string | null
  notification: string | null
  seq: number | null
  server: string | null
}

const COLUMNS = 'h.size, h.peaks, h.transaction_id as "transactionId", h.notification_id as notification, h.seq, h.server::text'

const headOf = ({ size, peaks, transactionId, notification, seq, server }: HeadRow): LogHead => ({
  size,
  peaks,
  position: transactionId === null ? null : { transactionId, notification: notification!, seq: seq! },
  server,
})

/** Until the transaction ends, no other node appends. null: another node does. */
export async function lockLogHead(db: Queryable): Promise<LockedHead | null> {
  const row = await queryRow<
    HeadRow &
      Pick<LockedHead, 'currentServer' | 'hasForeignEvents' | 'now'> & { newestSize: number | null; newestAt: Date | null }
  >(db, {
    name: 'lock-log-head',
    text: `select ${COLUMNS}, server_identity()::text as "currentServer", clock_timestamp() as now,
             exists (select from event where transaction_id >= pg_snapshot_xmax(pg_current_snapshot())) as "hasForeignEvents",
             c.size as "newestSize", c.at as "newestAt"
           from log_head h left join lateral (select size, at from checkpoint order by size desc limit 1) c on true
           for update of h skip locked`,
  })
  if (row === null) return null
  const { currentServer, hasForeignEvents, now, newestSize, newestAt } = row
  const newest = newestSize === null ? null : { size: newestSize, at: newestAt! }
  return { ...headOf(row), currentServer, hasForeignEvents, newest, now }
}

export const readLogHead = async (db: Queryable): Promise<LogHead> =>
  headOf((await queryRow<HeadRow>(db, `select ${COLUMNS} from log_head h`))!)

export const moveLogHead = (db: Queryable, { size, peaks, position, server }: LogHead): Promise<void> =>
  execute(db, {
    name: 'move-log-head',
    text: `update log_head set size = $1, peaks = $2, transaction_id = $3::xid8, notification_id = $4, seq = $5, server = $6`,
    values: [size, peaks, position?.transactionId ?? null, position?.notification ?? null, position?.seq ?? null, server],
  })

/** The condition for the events that the log lacks, with event as e and log_head as h. */
const AFTER_HEAD = `(e.transaction_id, e.notification_id, e.seq)
                 > (coalesce(h.transaction_id, '0'::xid8), coalesce(h.notification_id, '00000000-0000-0000-0000-000000000000'), coalesce(h.seq, 0))`

/** Whether every event is in the log. */
export const isLogWhole = async (db: Queryable): Promise<boolean> =>
  (await queryValue<boolean>(db, `select not exists (select from event e where ${AFTER_HEAD}) from log_head h`))!

/** How many events the log has, and since when the oldest event that it lacks has been waiting. */
export const readLogLag = async (
  db: Queryable,
): Promise<{ size: number; lagSeconds: number; checkpointSeconds: number | null }> =>
  (await queryRow<{ size: number; lagSeconds: number; checkpointSeconds: number | null }>(db, {
    name: 'read-log-lag',
    text: `select h.size,
             coalesce((select extract(epoch from clock_timestamp() - e.at) from event e
               where ${AFTER_HEAD}
               order by e.transaction_id limit 1), 0)::float8 as "lagSeconds",
             (select extract(epoch from clock_timestamp() - at) from checkpoint order by size desc limit 1)::float8 as "checkpointSeconds"
           from log_head h`,
  }))!
