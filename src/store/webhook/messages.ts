import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import type { PayloadVersion } from '../../domain/webhook.js'
import { execute, type Queryable, queryRow, queryRows, queryValue, run } from '../postgres.js'
import { WEBHOOK_TERM } from './attempts.js'
import { UNDER_WAY } from './leases.js'

export interface ListedMessage {
  id: string
  notification: string
  channel: Channel
  seq: number
  attempt: number
  createdAt: Date
}

export const insertTestMessage = (db: Queryable, endpoint: string, id: string, channel: Channel): Promise<void> =>
  execute(db, 'insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq) values ($1, $2, $1, $3, 0)', [
    id,
    endpoint,
    channel,
  ])

/** Queues a message again in any state, except while it is being delivered. */
export async function replayMessage(db: Queryable, endpoint: string, id: string): Promise<'queued' | 'busy' | 'missing'> {
  const busy = await queryValue<boolean>(
    db,
    `with found as (
       select id, state = 'queued' and (id, attempt) in (${UNDER_WAY}) as busy from webhook_message where id = $2 and endpoint_id = $1 for no key update
     ), queued as (
       update webhook_message m set state = 'queued', due_at = now(), queued_at = now(), earlier_attempts = m.attempt
       from found f where m.id = f.id and not f.busy
     )
     select busy from found`,
    [endpoint, id],
  )
  if (busy === null) return 'missing'
  return busy ? 'busy' : 'queued'
}

export interface ReplaySpan {
  since: Date
  until: Date
  /** Excludes messages that were delivered. */
  missedOnly: boolean
}

/** The position of a replay. The time is the database's text, because a Date would lose the microseconds. */
export interface ReplayCursor {
  at: string
  position: number
}

/** Queues a batch of the messages of a time span again, oldest first. Returns the next position, or null at the end. */
export const replayBatch = (
  db: Queryable,
  endpoint: string,
  { since, until, missedOnly }: ReplaySpan,
  after: ReplayCursor,
  limit: number,
): Promise<(ReplayCursor & { count: number }) | null> =>
  queryRow(
    db,
    `with span as (
       select id, created_at, position from webhook_message
       where endpoint_id = $1 and created_at >= $2 and created_at < $3 and (created_at, position) > ($4::timestamptz, $5)
         and state = any($6::text[])
       -- Passes over what another transaction holds: its outcome is being written at this moment.
       order by created_at, position limit $7 for no key update skip locked
     ), queued as (
       update webhook_message m set state = 'queued', due_at = now(), queued_at = now(), earlier_attempts = m.attempt
       from span s where m.id = s.id
     )
     select count(*), max(created_at)::text as at, (array_agg(position order by created_at desc, position desc))[1] as position
     from span having count(*) > 0`,
    [endpoint, since, until, after.at, after.position, ['queued', 'dead', 'held', ...(missedOnly ? [] : ['done'])], limit],
  )

/** Records that a listener polled. Returns its payload version, or null when there is no such listener. */
export const touchListener = (db: Queryable, { account, mode }: Scope, id: string): Promise<PayloadVersion | null> =>
  queryValue(
    db,
    `update webhook_endpoint set seen_at = now()
     where id = $3 and account_id = $1 and mode = $2 and url is null and deleted_at is null
     returning payload_version as version`,
    [account, mode, id],
  )

export const acknowledge = (db: Queryable, listener: string, messages: readonly string[]): Promise<void> =>
  execute(
    db,
    "update webhook_message set state = 'done', attempt = attempt + 1 where endpoint_id = $1 and id = any($2::uuid[]) and state = 'queued'",
    [listener, messages],
  )

/** Ends messages that a listener cannot be given. */
export const giveUp = (db: Queryable, listener: string, messages: readonly string[]): Promise<void> =>
  execute(
    db,
    "update webhook_message set state = 'dead', attempt = attempt + 1 where endpoint_id = $1 and id = any($2::uuid[]) and state = 'queued'",
    [listener, messages],
  )

/** The messages that a listener has not acknowledged, in order of occurrence. */
export const readUnacknowledged = (db: Queryable, listener: string, limit: number): Promise<ListedMessage[]> =>
  queryRows(
    db,
    `select id, notification_id as notification, channel, event_seq as seq, attempt, created_at as "createdAt"
     from webhook_message where endpoint_id = $1 and state = 'queued' order by position limit $2`,
    [listener, limit],
  )

/** Deletes a batch of messages after their retention time, or of deleted endpoints. Messages still to be sent stay. */
export async function pruneMessages(db: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await run(
    db,
    `delete from webhook_message where id = any(array(
       select m.id from webhook_endpoint w join account a on a.id = w.account_id cross join lateral (
         select id from webhook_message
         where endpoint_id = w.id and (state <> 'queued' or w.disabled_at is not null)
           and created_at < case when w.deleted_at is null then now() - ${WEBHOOK_TERM} else 'infinity' end
         -- Locked, because a replay may queue a message again at this moment.
         order by created_at limit $2 for update skip locked
       ) m limit $2))`,
    [days, limit],
  )
  return rowCount ?? 0
}
