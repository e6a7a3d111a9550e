import type { Channel } from '../../domain/channel.js'
import type { ChainedEvent } from '../../domain/evidence.js'
import type { StepCondition } from '../../domain/sequence.js'
import type { DeliveryStatus } from '../../domain/status.js'
import { type Queryable, run } from '../postgres.js'
import { STATUS_COLUMNS, type StatusRow, toStatus } from './deliveries.js'

/** Writes facts: locks the notifications, reads them, then writes everything that changed with one statement. */
export interface StoredDelivery {
  notification: string
  account: string
  step: number
  condition: StepCondition
  dueAt: Date
  attempt: number
  leaseOwner: string | null
  status: DeliveryStatus
}

export interface ChainHead {
  seq: number
  at: Date
  hash: string
}

/** Locks the notifications, in the order of their ids so that two batches cannot wait for each other. Returns those that exist. */
export async function lockNotifications(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await run<{ id: string }>(db, {
    name: 'lock-notifications',
    text: 'select id from notification where id = any($1::uuid[]) order by id for no key update',
    values: [ids],
  })
  return new Set(rows.map(row => row.id))
}

interface LockedRow extends StatusRow {
  account_id: string
  condition: StepCondition
  due_at: Date
  attempt: number
  lease_owner: string | null
  head_seq: number
  head_at: Date
  head_hash: Buffer
}

/** Every delivery of the locked notifications, and the last event of each chain. */
export async function readLocked(
  db: Queryable,
  ids: readonly string[],
): Promise<{ deliveries: StoredDelivery[]; heads: Map<string, ChainHead> }> {
  const { rows } = await run<LockedRow>(db, {
    name: 'read-locked',
    text: `select ${STATUS_COLUMNS}, d.account_id, d.condition, d.due_at, d.attempt, d.lease_owner,
             e.seq as head_seq, e.at as head_at, e.hash as head_hash
           from notification n join delivery d on d.notification_id = n.id
           cross join lateral (select seq, at, hash from event where notification_id = n.id order by seq desc limit 1) e
           where n.id = any($1::uuid[]) and d.notification_id = any($1::uuid[]) order by n.id, d.step, d.channel`,
    values: [ids],
  })
  const heads = new Map<string, ChainHead>()
  const deliveries = rows.map(row => {
    heads.set(row.notification_id, { seq: row.head_seq, at: row.head_at, hash: row.head_hash.toString('hex') })
    return {
      notification: row.notification_id,
      account: row.account_id,
      step: row.step,
      condition: row.condition,
      dueAt: row.due_at,
      attempt: row.attempt,
      leaseOwner: row.lease_owner,
      status: toStatus(row),
    }
  })
  return { deliveries, heads }
}

export interface DeliveryWrite {
  notification: string
  status: DeliveryStatus
  /** When it is due, from now; null leaves the date alone. */
  delayMs: number | null
  /** Whether another carrier may take it before that. */
  failover: boolean
  /** Which carriers may take it from now on: only the carrier of its latest attempt, any, or the same ones as before. */
  bind: 'carrier' | 'none' | 'keep'
}

export interface EventWrite {
  event: ChainedEvent
  account: string
  channel: Channel
  /** Whether senders' webhooks are told. */
  announced: boolean
}

/** The carrier's own reference of a message, or of one part of it. */
export interface ReferenceWrite {
  provider: string
  reference: string
  notification: string
  channel: Channel
  ordinal: number
  part: number
  parts: number
}

/**
 * Writes events, statuses, the outbox of webhooks and the carriers' references in one statement. The lease of each written delivery
 * ends, unless the delivery is still being sent. Returns how many webhook messages were queued.
 */
export async function writeRecords(
  db: Queryable,
  events: readonly EventWrite[],
  deliveries: readonly DeliveryWrite[],
  references: readonly ReferenceWrite[] = [],
): Promise<number> {
  const { rows } = await run<{ queued: number }>(db, {
    name: 'write-records',
    text: WRITE_RECORDS,
    values: [eventRows(events), deliveryRows(deliveries), JSON.stringify(references)],
  })
  return rows[0]!.queued
}

const WRITE_RECORDS = `
  with happened as materialized (
    select * from json_to_recordset($1) as e(notification_id uuid, seq int, at timestamptz, type text, source text, data jsonb, salt text,
      commit text, prev text, hash text, account_id uuid, channel text, announced boolean)
  ), changed as materialized (
    select * from json_to_recordset($2) as u(notification_id uuid, channel text, state text, delay_ms bigint, failover boolean, bind text,
      processed_at timestamptz, prepared_at timestamptz, sent_at timestamptz, delivered_at timestamptz, read_at timestamptz,
      confirmed_at timestamptz, link_opened_at timestamptz, answered_at timestamptz, failed_at timestamptz, cancelled_at timestamptz,
      cancel_reason text, failure text, failure_detail text, answers jsonb, tracking_code text, ordinal int, unknown_count int, parts jsonb, taken jsonb)
  ), events as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select notification_id, seq, at, type, source, data, decode(salt, 'hex'), decode(commit, 'hex'), decode(prev, 'hex'), decode(hash, 'hex')
    from happened
  ), messages as (
    insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
    select gen_random_uuid(), w.id, e.notification_id, e.channel, e.seq, case when w.disabled_at is null then 'queued' else 'held' end
    from happened e
    join webhook_endpoint w on w.account_id = e.account_id and w.deleted_at is null
      and (w.channels is null or e.channel = any(w.channels)) and (w.statuses is null or e.type = any(w.statuses))
    where e.announced
    order by e.notification_id, e.seq
    returning state
  ), refs as (
    insert into carrier_reference (provider, reference, notification_id, channel, ordinal, part, parts)
    select * from json_to_recordset($3)
      as r(provider text, reference text, notification uuid, channel text, ordinal smallint, part smallint, parts smallint)
    on conflict do nothing
  ), statuses as (
    update delivery d set
      state = u.state, due_at = coalesce(now() + u.delay_ms * interval '1 millisecond', d.due_at),
      lease_owner = case when u.state = 'sending' then d.lease_owner end, lease_until = case when u.state = 'sending' then d.lease_until end,
      attempt = case when u.ordinal > d.ordinal then 0 else d.attempt end, failovers = case when u.ordinal > d.ordinal then 0 else d.failovers end,
      tried = case when u.failover or u.state = 'sending' then d.tried end,
      bound_carrier = case when u.ordinal > d.ordinal or u.bind = 'none' then null when u.bind = 'carrier' then d.carrier else d.bound_carrier end,
      processed_at = u.processed_at, prepared_at = u.prepared_at, sent_at = u.sent_at, delivered_at = u.delivered_at, read_at = u.read_at,
      confirmed_at = u.confirmed_at, link_opened_at = u.link_opened_at, answered_at = u.answered_at, failed_at = u.failed_at,
      cancelled_at = u.cancelled_at, cancel_reason = u.cancel_reason, failure = u.failure, failure_detail = u.failure_detail,
      answers = u.answers, tracking_code = u.tracking_code, ordinal = u.ordinal, unknown_count = u.unknown_count, parts = u.parts, taken = u.taken
    from changed u
    -- The list of ids limits the update to the months that hold them, before the join.
    where d.notification_id = u.notification_id and d.channel = u.channel
      and d.notification_id = any(array(select notification_id from changed))
  )
  select count(*) as queued from messages where state = 'queued'`

const eventRows = (events: readonly EventWrite[]): string =>
  JSON.stringify(
    events.map(({ event, account, channel, announced }) => ({
      notification_id: event.notification,
      seq: event.seq,
      at: event.at,
      type: event.type,
      source: event.source,
      data: event.data,
      salt: event.salt.toString('hex'),
      commit: event.commit,
      prev: event.prev,
      hash: event.hash,
      account_id: account,
      channel,
      announced,
    })),
  )

const deliveryRows = (deliveries: readonly DeliveryWrite[]): string =>
  JSON.stringify(
    deliveries.map(({ notification, status, delayMs, failover, bind }) => ({
      notification_id: notification,
      channel: status.channel,
      state: status.state,
      delay_ms: delayMs,
      failover,
      bind,
      processed_at: status.processedAt,
      prepared_at: status.preparedAt,
      sent_at: status.sentAt,
      delivered_at: status.deliveredAt,
      read_at: status.readAt,
      confirmed_at: status.confirmedAt,
      link_opened_at: status.linkOpenedAt,
      answered_at: status.answeredAt,
      failed_at: status.failedAt,
      cancelled_at: status.cancelledAt,
      cancel_reason: status.cancelReason,
      failure: status.failure,
      failure_detail: status.failureDetail,
      answers: status.answers.length === 0 ? null : status.answers,
      tracking_code: status.trackingCode,
      ordinal: status.ordinal,
      unknown_count: status.unknownCount,
      parts: status.parts.length === 0 ? null : status.parts,
      taken: status.taken,
    })),
  )
