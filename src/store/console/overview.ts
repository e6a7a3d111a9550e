import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { plannedOnce, type Queryable, queryRow, queryRows } from '../postgres.js'

/** Counts stop here: the overview says that there are many, and a list shows which. */
export const MOST_COUNTED = 1_000

export interface WaitingDeliveries {
  channel: Channel
  state: 'queued' | 'uncertain' | 'unresolved' | 'dead'
  count: number
  /** Since when the oldest has been due; null: of no meaning for this state. */
  oldest: Date | null
}

/**
 * What waits, by channel. Each account, and its single sends and its batches, is one range of an index, read in the order of that index.
 * Without the "order by", the oldest would be searched for in the whole queue.
 */
export const readWaiting = (
  db: Queryable,
  accounts: readonly string[],
  mode: Mode,
  channels: readonly Channel[],
): Promise<WaitingDeliveries[]> =>
  queryRows(
    db,
    plannedOnce({
      text: `select c.channel, 'queued' as state, n.count, o.oldest from unnest($3::text[]) as c(channel)
     cross join lateral (
       select count(*)::int as count from (
         select from unnest($1::uuid[]) as a(id) cross join unnest(array[false, true]) as b(bulk) cross join lateral (
           select from delivery where ${QUEUED} and due_at <= now() order by due_at limit $4
         ) d limit $4
       ) q
     ) n
     cross join lateral (
       select min(f.due_at) as oldest from unnest($1::uuid[]) as a(id) cross join unnest(array[false, true]) as b(bulk) cross join lateral (
         select due_at from delivery where ${QUEUED} order by due_at limit 1
       ) f where f.due_at <= now()
     ) o where n.count > 0
     ${(['uncertain', 'unresolved', 'dead'] as const)
       .map(
         state => `union all
     select channel, '${state}', count(*)::int, null from (
       select d.channel from unnest($1::uuid[]) as a(id) cross join lateral (
         select channel from delivery where state = '${state}' and mode = $2 and account_id = a.id
         order by notification_id desc, channel desc limit $4
       ) d limit $4
     ) w group by channel`,
       )
       .join(' ')}`,
      values: [accounts, mode, channels, MOST_COUNTED],
    }),
  )

/** The range of the index of the queue for one channel `c`, account `a` and kind of send `b`. */
export const QUEUED = `state = 'queued' and channel = c.channel and mode = $2 and account_id = a.id and bulk = b.bulk`

export interface WebhookHealth {
  active: number
  failing: number
  suspended: number
  /** When the oldest message that waits was made; null: none waits. */
  oldest: Date | null
}

export const readWebhookHealth = async (db: Queryable, accounts: readonly string[], mode: Mode): Promise<WebhookHealth> =>
  (await queryRow<WebhookHealth>(
    db,
    plannedOnce({
      text: `select count(*) filter (where disabled_at is null)::int as active,
       count(*) filter (where disabled_at is null and failing_since is not null)::int as failing,
       count(*) filter (where disabled_reason in ('failing', 'gone'))::int as suspended, min(m.oldest) as oldest
     from webhook_endpoint w
     left join lateral (
       select queued_at as oldest from webhook_message q where q.endpoint_id = w.id and q.state = 'queued' and w.disabled_at is null
       order by due_at, position limit 1
     ) m on true
     where account_id = any($1::uuid[]) and mode = $2 and url is not null and deleted_at is null`,
      values: [accounts, mode],
    }),
  ))!
