import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { LOWEST_ID, lowestId } from '../../domain/id.js'
import { HOUR_MS } from '../../domain/units.js'
import {
  execute,
  filterBy,
  matchesRow,
  type Pool,
  plannedOnce,
  type Queryable,
  queryRows,
  queryValue,
  queryValues,
  snapshot,
} from '../postgres.js'

/** A delivery, for reading page by page. */
export interface DeliveryKey {
  notification: string
  channel: Channel
}

export interface OpenDelivery extends DeliveryKey {
  account: string
  state: string
}

/** One by one: each state has an index of its own, and beside millions of finished deliveries no other way to find them is quick. */
const OPEN = ["state = 'waiting' and condition <> 'failed'", "state = 'waiting' and condition = 'failed'"]
  .concat(['queued', 'sending', 'uncertain'].map(state => `state = '${state}'`))
  .map(condition => `select notification_id from delivery where ${condition}`)

/** How long the cursor below may wait for the work on a page. It holds no row that others need. */
const PAGE_MS = 600_000

/**
 * Gives the notifications with a delivery that is not finished, page by page; those with several may come in several pages. By a cursor,
 * which reads each delivery once: the indexes have other orders, so that each page in the order of the ids would read everything again, and
 * a list of all would exceed the timeout of its statement.
 */
export const eachOpenPage = (pool: Pool, size: number, work: (notifications: string[]) => Promise<void>): Promise<void> =>
  snapshot(pool, async db => {
    await execute(db, `set local idle_in_transaction_session_timeout = ${PAGE_MS}`)
    // A bitmap is built of a whole index before the first row comes.
    await execute(db, 'set local enable_bitmapscan = off')
    await execute(db, `declare open_delivery no scroll cursor for ${OPEN.join(' union all ')}`)
    for (let read = size; read === size; ) {
      const page = await queryValues<string>(db, `fetch ${size} from open_delivery`)
      if (page.length > 0) await work([...new Set(page)])
      read = page.length
    }
  })

/**
 * The deliveries of these notifications that may have been sent since the copy was made: all that were not finished, and had been accepted
 * when it was marked (markRestoration). Deliveries that are due later are left out: nobody has sent them.
 */
export const findOpenInCopy = (db: Queryable, restoration: number, notifications: readonly string[]): Promise<OpenDelivery[]> =>
  queryRows(
    db,
    // offset 0: each is looked up by its key. As a join, all unfinished deliveries would be read for every page.
    plannedOnce({
      text: `select d.notification_id as notification, d.channel, d.account_id as account, d.state
       from unnest($2::uuid[]) as q(id) join restoration r on r.id = $1
       cross join lateral (select code, send_at from notification where id = q.id offset 0) n
       cross join lateral (select notification_id, channel, account_id, state, due_at, tried from delivery
         where notification_id = q.id and state in ('waiting', 'queued', 'sending', 'uncertain') offset 0) d
       where n.code <= r.last_code and (n.send_at is null or n.send_at <= now())
         and not (d.state = 'queued' and d.due_at > now() and d.tried is null)
       order by d.notification_id, d.channel`,
      values: [restoration, notifications],
    }),
  )

/** The place of a delivery in the list of those that wait. */
export interface RestoredPlace extends DeliveryKey {
  accountId: string
  mode: Mode
}

const FIRST = { accountId: LOWEST_ID, mode: '', notification: LOWEST_ID, channel: '' }

/** A delivery that waits for a person because the database is a copy. */
export interface RestoredDelivery extends RestoredPlace {
  account: string
  recipient: string | null
  restoration: number
  /** What it was in the copy. */
  was: string
  acceptedAt: Date
  /** How long a step of the sequence waited from the start. */
  waitMs: number
}

export interface RestoredQuestion {
  notification: string | null
  channel: Channel | null
  after: RestoredPlace | null
  limit: number
}

const RESTORED = `delivery d join notification n on n.id = d.notification_id
  join lateral (select (e.data ->> 'restored')::bigint as restoration, e.data ->> 'was' as was from event e
    where e.notification_id = d.notification_id and e.type = 'unresolved' and e.data ->> 'channel' = d.channel
    order by e.seq desc limit 1) e on e.restoration is not null`

/**
 * By account and mode, the oldest first: the order of the index, so that a page reads no others. An index in the order of the ids alone would
 * be taken for the lists of accounts, too, and read those of all.
 */
export function listRestored(
  db: Queryable,
  { notification, channel, after, limit }: RestoredQuestion,
): Promise<RestoredDelivery[]> {
  const last = after ?? FIRST
  return queryRows(
    db,
    `select d.notification_id as notification, d.channel, d.account_id as "accountId", a.name as account, d.mode, d.recipient, e.restoration, e.was,
       n.accepted_at as "acceptedAt", greatest(0, extract(epoch from d.due_at - coalesce(n.send_at, n.accepted_at)) * 1000)::float8 as "waitMs"
     from ${RESTORED} join account a on a.id = d.account_id
     where d.state = 'unresolved' and ${filterBy('$1::uuid', notification, 'd.notification_id = $1')}
       and ${filterBy('$2::text', channel, 'd.channel = $2')}
       and (d.account_id, d.mode, d.notification_id, d.channel) > ($3, $4, $5, $6)
     order by d.account_id, d.mode, d.notification_id, d.channel limit $7`,
    [notification, channel, last.accountId, last.mode, last.notification, last.channel, limit],
  )
}

export const countRestored = (db: Queryable): Promise<{ channel: Channel; mode: Mode; count: number; since: Date }[]> =>
  queryRows(
    db,
    `select d.channel, d.mode, count(*) as count, min(n.accepted_at) as since from ${RESTORED}
     where d.state = 'unresolved' group by d.channel, d.mode order by d.channel, d.mode`,
  )

/** Ids have the time of the node that made them, and clocks differ: room for a node whose clock is ahead of the database's. */
const CLOCKS_MS = HOUR_MS

/**
 * How many deliveries of these accounts wait for a person because the database is a copy, up to `most`. Reads nothing
 * where no copy was ever noticed, and otherwise only what was accepted before: the events of each delivery have to be read.
 */
export async function countRestoredOf(
  db: Queryable,
  { accounts, mode }: { accounts: readonly string[]; mode: Mode },
  most: number,
): Promise<number> {
  const noticed = await queryValue<Date>(db, 'select noticed_at from restoration order by id desc limit 1')
  if (noticed === null) return 0
  const restored = `select from ${RESTORED}
    where d.state = 'unresolved' and d.account_id = any($1::uuid[]) and d.mode = $2 and d.notification_id < $3 limit $4`
  const before = lowestId(noticed.getTime() + CLOCKS_MS)
  const query = { text: `select count(*)::int from (${restored}) r`, values: [accounts, mode, before, most] }
  return (await queryValue<number>(db, plannedOnce(query)))!
}

const DATABASE = '(select oid from pg_database where datname = current_database())'

/**
 * Once for each restoration and server, before anything is held: pauses the batches, and marks what is of the copy. Lines that the copy has as not sent
 * yet may have been sent since: a person goes on with the batch, or cancels it. The mark comes after the pause, which waits for lines that
 * are being accepted: none is accepted later. A database that was copied while a restoration was open has what was accepted after its mark:
 * there it is marked again.
 */
export async function markRestoration(db: Queryable, id: number): Promise<void> {
  const isOpen = await matchesRow(
    db,
    `select from restoration where id = $1 and held_at is null
       and (last_code is null or (marked_start, marked_database) is distinct from (pg_postmaster_start_time(), ${DATABASE})) for update`,
    [id],
  )
  if (!isOpen) return
  await execute(
    db,
    // In the order in which lines that are being accepted lock their batches.
    `with open as materialized (
       select id from bulk_batch where state in ('receiving', 'checking', 'sending') order by id for no key update
     )
     update bulk_batch b set state = case when state = 'sending' then 'paused' else state end, starts = false,
       paused_at = case when state = 'sending' then now() else paused_at end
     from open where b.id = open.id`,
  )
  await execute(
    db,
    `update restoration set noticed_at = clock_timestamp(), last_code = nextval('notification_code'),
       marked_start = pg_postmaster_start_time(), marked_database = ${DATABASE} where id = $1`,
    [id],
  )
}
