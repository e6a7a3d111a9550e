import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import type { DatedStatus } from '../../domain/delivery/status.js'
import type { SuppressionReason } from '../accounts/suppressions.js'
import { STATUS_COLUMNS, UNKNOWN_SINCE } from '../delivery/deliveries.js'
import { filterBy, plannedOnce, type Queryable, queryRows } from '../postgres.js'
import { QUEUED } from './overview.js'

/** Counts stop here, for each channel and state: nobody waits for a count of millions. */
export const MOST_LISTED = 1_000

/** later: due at a later moment, for a retry or a carrier that asked to wait. */
type LoadState = 'queued' | 'later' | 'sending' | 'uncertain' | 'unresolved' | 'dead'

export interface CarrierLoad {
  channel: Channel
  /** The carrier that has it, or had it last; null: none yet. */
  carrier: string | null
  state: LoadState
  count: number
  /** Since when the oldest is due; of `later`, when the next one is. */
  oldest: Date | null
}

/** What waits for a person. */
const decidableStates = ['dead', 'unresolved', 'uncertain'] as const

/**
 * What is not finished, by channel and carrier. Each account is one range of an index, read in the order of that index. Without the "order by",
 * the planner would read the index of the state over all accounts once for each account. `sending` needs none: workers hold few at a time.
 */
export const readLoad = (
  db: Queryable,
  accounts: readonly string[],
  mode: Mode,
  channels: readonly Channel[],
): Promise<CarrierLoad[]> =>
  queryRows(
    db,
    plannedOnce({
      text: `select channel, carrier, state, count(*)::int as count, min(due_at) as oldest from (
       select c.channel, q.carrier, case when q.due_at > now() then 'later' else 'queued' end as state, q.due_at
       from unnest($3::text[]) as c(channel) cross join lateral (
         select d.carrier, d.due_at from unnest($1::uuid[]) as a(id) cross join unnest(array[false, true]) as b(bulk) cross join lateral (
           select coalesce(bound_carrier, carrier) as carrier, due_at from delivery where ${QUEUED} order by due_at limit $4
         ) d order by d.due_at limit $4
       ) q
       union all
       (select d.channel, d.carrier, 'sending', null::timestamptz from unnest($1::uuid[]) as a(id) cross join lateral (
          select channel, carrier from delivery where state = 'sending' and mode = $2 and account_id = a.id limit $4
        ) d limit $4)
       ${decidableStates
         .map(
           state => `union all
       (select d.channel, d.carrier, '${state}', null::timestamptz from unnest($1::uuid[]) as a(id) cross join lateral (
          select channel, carrier from delivery where state = '${state}' and mode = $2 and account_id = a.id
          order by notification_id desc, channel desc limit $4
        ) d limit $4)`,
         )
         .join(' ')}
     ) w group by channel, carrier, state order by channel, carrier nulls first, state`,
      values: [accounts, mode, channels, MOST_LISTED],
    }),
  )

type DecidableState = (typeof decidableStates)[number]

export interface StuckQuestion {
  accounts: readonly string[]
  mode: Mode
  state: DecidableState
  channel: Channel | null
  /** The last row of the page before. */
  after: { notification: string; channel: string } | null
  limit: number
}

export interface StuckDelivery extends DatedStatus {
  notification: string
  channel: Channel
  account: string
  recipient: string | null
  recipientName: string | null
  subject: string | null
  carrier: string | null
  reference: string | null
  attempt: number
}

/** The deliveries that wait for a person, newest first, from one range of the index of their state for each account. */
export const listStuck = (
  db: Queryable,
  { accounts, mode, state, channel, after, limit }: StuckQuestion,
): Promise<StuckDelivery[]> => {
  const newest = 'order by notification_id desc, channel desc limit $6'
  return queryRows(
    db,
    plannedOnce({
      text: `select ${STATUS_COLUMNS}, ${UNKNOWN_SINCE}, d.account_id as account, d.recipient, n.recipient_name as "recipientName", n.subject,
       d.carrier, d.reference, d.attempt
     from (
       select d.* from unnest($1::uuid[]) as a(id) cross join lateral (
         select * from delivery where state = '${state}' and mode = $2 and account_id = a.id and ${filterBy('$3::text', channel, 'channel = $3')}
           and ${after === null ? '$4::uuid is null and $5::text is null' : '(notification_id, channel) < ($4::uuid, $5::text)'}
         ${newest}
       ) d ${newest}
     ) d join notification n on n.id = d.notification_id
     order by d.notification_id desc, d.channel desc`,
      values: [accounts, mode, channel, after?.notification ?? null, after?.channel ?? null, limit],
    }),
  )
}

export interface SuppressionQuestion {
  accounts: readonly string[]
  mode: Mode
  channel: Channel | null
  /** Whole, in any case of letters. */
  recipient: string | null
  /** The last row of the page before: its moment as the database wrote it, because a Date would lose the microseconds. */
  after: { at: string; channel: string; recipient: string } | null
  limit: number
}

export interface ListedSuppression {
  account: string
  channel: Channel
  recipient: string
  reason: SuppressionReason
  notification: string | null
  at: string
}

/** The latest first, from one range of an index for each account. */
export const listAllSuppressions = (db: Queryable, question: SuppressionQuestion): Promise<ListedSuppression[]> => {
  const { accounts, mode, channel, recipient, after, limit } = question
  const order = 'order by created_at desc, channel desc, recipient desc limit $8'
  return queryRows(
    db,
    plannedOnce({
      text: `select account_id as account, channel, recipient, reason, notification_id as notification,
       to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
     from unnest($1::uuid[]) as a(id) cross join lateral (
       select * from suppression where account_id = a.id and mode = $2 and ${filterBy('$3::text', channel, 'channel = $3')}
         and ${filterBy('$4::text', recipient, 'recipient = lower($4)')}
         and ${
           after === null
             ? '$5::timestamptz is null and $6::text is null and $7::text is null'
             : '(created_at, channel, recipient) < ($5::timestamptz, $6::text, $7::text)'
         }
       ${order}
     ) s ${order}`,
      values: [accounts, mode, channel, recipient, after?.at ?? null, after?.channel ?? null, after?.recipient ?? null, limit],
    }),
  )
}

export interface ListedCheckpoint {
  size: number
  at: Date
  cosignatures: number
  timeStamps: number
}

/** The newest first, with how many witnesses signed them and how many authorities dated them. */
export const listLatestCheckpoints = (db: Queryable, limit: number): Promise<ListedCheckpoint[]> =>
  queryRows(
    db,
    `select c.size, c.at, (select count(*)::int from checkpoint_cosignature s where s.size = c.size) as cosignatures,
       (select count(*)::int from checkpoint_time_stamp t where t.size = c.size) as "timeStamps"
     from checkpoint c order by c.size desc limit $1`,
    [limit],
  )
