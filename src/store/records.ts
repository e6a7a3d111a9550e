import type { Channel } from '../domain/channel.js'
import type { ChainedEvent } from '../domain/evidence.js'
import type { StepCondition } from '../domain/sequence.js'
import type { DeliveryStatus } from '../domain/status.js'
import { STATUS_COLUMNS, type StatusRow, toStatus } from './deliveries.js'
import { type Queryable, run } from './postgres.js'

/** The writing of facts: lock, look, then one statement for everything that changed. */
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
  /** From now, for those that go again; null leaves the due date alone. */
  delayMs: number | null
  /** Whether another carrier may take it before that. */
  detour: boolean
  /** Which carriers may take it from now on: only the one of its latest attempt, any, or whichever might before. */
  bind: 'carrier' | 'none' | 'keep'
}

export interface EventWrite {
  event: ChainedEvent
  account: string
  channel: Channel
  /** Whether senders' webhooks are told. */
  announced: boolean
}

/** What a carrier calls a message, or one part of it. */
export interface ReferenceWrite {
  carrier: string
  reference: string
  notification: string
  channel: Channel
  ordinal: number
  part: number
  parts: number
}

/**
 * One statement: events, statuses, the outbox of webhooks and the carriers' references. Leases end with it, but those of deliveries that are still being sent. Returns how many
 * webhook messages it queued.
 */
export async function writeRecords(
  db: Queryable,
  events: readonly EventWrite[],
  deliveries: readonly DeliveryWrite[],
  references: readonly ReferenceWrite[] = [],
): Promise<number> {
  const ofEvent = <T>(pick: (write: EventWrite) => T): T[] => events.map(pick)
  const ofStatus = <T>(pick: (status: DeliveryStatus) => T): T[] => deliveries.map(delivery => pick(delivery.status))
  const { rows } = await run<{ queued: number }>(db, {
    name: 'write-records',
    text: `
      with events as (
        insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
        select id, seq, at, type, source, data::jsonb, decode(salt, 'hex'), decode(substr(hashes, 1, 64), 'hex'),
          decode(substr(hashes, 65, 64), 'hex'), decode(substr(hashes, 129, 64), 'hex')
        from unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
          as t(id, seq, at, type, source, data, salt, hashes)
      ), messages as (
        insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
        select gen_random_uuid(), w.id, t.id, t.channel, t.seq, case when w.disabled_at is null then 'queued' else 'held' end
        from unnest($1::uuid[], $2::int[], $4::text[], $9::uuid[], $10::text[], $11::boolean[]) as t(id, seq, type, account_id, channel, announced)
        join webhook_endpoint w on w.account_id = t.account_id and w.deleted_at is null
          and (w.channels is null or t.channel = any(w.channels)) and (w.statuses is null or t.type = any(w.statuses))
        where t.announced
        order by t.id, t.seq
        returning state
      ), refs as (
        insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts)
        select * from jsonb_to_recordset($34::jsonb)
          as r(carrier text, reference text, notification uuid, channel text, ordinal smallint, part smallint, parts smallint)
        on conflict do nothing
      ), statuses as (
      update delivery d set
        state = u.state, due_at = coalesce(now() + u.delay_ms * interval '1 millisecond', d.due_at),
        lease_owner = case when u.state = 'sending' then d.lease_owner end, lease_until = case when u.state = 'sending' then d.lease_until end,
        attempt = case when u.ordinal > d.ordinal then 0 else d.attempt end, detours = case when u.ordinal > d.ordinal then 0 else d.detours end,
        tried = case when u.detour or u.state = 'sending' then d.tried end,
        bound_to = case when u.ordinal > d.ordinal or u.bind = 'none' then null when u.bind = 'carrier' then d.provider else d.bound_to end,
        processed_at = u.processed_at, prepared_at = u.prepared_at, sent_at = u.sent_at, delivered_at = u.delivered_at, read_at = u.read_at,
        confirmed_at = u.confirmed_at, link_opened_at = u.link_opened_at, answered_at = u.answered_at, failed_at = u.failed_at,
        cancelled_at = u.cancelled_at, cancel_reason = u.cancel_reason, failure = u.failure, failure_detail = u.failure_detail,
        answers = u.answers::jsonb, tracking_code = u.tracking_code, ordinal = u.ordinal, doubts = u.doubts, parts = u.parts::jsonb, taken = u.taken::jsonb
      from unnest($12::uuid[], $13::text[], $14::text[], $15::bigint[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[],
          $19::timestamptz[], $20::timestamptz[], $21::timestamptz[], $22::timestamptz[], $23::timestamptz[], $24::timestamptz[],
          $25::timestamptz[], $26::text[], $27::text[], $28::text[], $29::text[], $30::text[],
          $31::int[], $32::int[], $33::text[], $35::boolean[], $36::text[], $37::text[])
        as u(id, channel, state, delay_ms, processed_at, prepared_at, sent_at, delivered_at, read_at, confirmed_at, link_opened_at,
          answered_at, failed_at, cancelled_at, cancel_reason, failure, failure_detail, answers, tracking_code, ordinal, doubts, parts, detour, taken, bind)
      where d.notification_id = u.id and d.channel = u.channel and d.notification_id = any($12::uuid[])
      )
      select count(*) as queued from messages where state = 'queued'`,
    values: [
      ofEvent(({ event }) => event.notification),
      ofEvent(({ event }) => event.seq),
      ofEvent(({ event }) => event.at),
      ofEvent(({ event }) => event.type),
      ofEvent(({ event }) => event.source),
      ofEvent(({ event }) => JSON.stringify(event.data)),
      ofEvent(({ event }) => event.salt.toString('hex')),
      ofEvent(({ event }) => event.commit + event.prev + event.hash),
      ofEvent(write => write.account),
      ofEvent(write => write.channel),
      ofEvent(write => write.announced),
      deliveries.map(delivery => delivery.notification),
      ofStatus(status => status.channel),
      ofStatus(status => status.state),
      deliveries.map(delivery => delivery.delayMs),
      ofStatus(status => status.processedAt),
      ofStatus(status => status.preparedAt),
      ofStatus(status => status.sentAt),
      ofStatus(status => status.deliveredAt),
      ofStatus(status => status.readAt),
      ofStatus(status => status.confirmedAt),
      ofStatus(status => status.linkOpenedAt),
      ofStatus(status => status.answeredAt),
      ofStatus(status => status.failedAt),
      ofStatus(status => status.cancelledAt),
      ofStatus(status => status.cancelReason),
      ofStatus(status => status.failure),
      ofStatus(status => status.failureDetail),
      ofStatus(status => (status.answers.length === 0 ? null : JSON.stringify(status.answers))),
      ofStatus(status => status.trackingCode),
      ofStatus(status => status.ordinal),
      ofStatus(status => status.doubts),
      ofStatus(status => (status.parts.length === 0 ? null : JSON.stringify(status.parts))),
      references.length === 0 ? null : JSON.stringify(references),
      deliveries.map(delivery => delivery.detour),
      ofStatus(status => (status.taken === null ? null : JSON.stringify(status.taken))),
      deliveries.map(delivery => delivery.bind),
    ],
  })
  return rows[0]!.queued
}
