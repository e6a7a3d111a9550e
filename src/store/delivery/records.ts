import type { Channel } from '../../domain/channel.js'
import type { ChainedEvent } from '../../domain/evidence.js'
import type { Scope } from '../../domain/scope.js'
import type { StepCondition } from '../../domain/sequence.js'
import type { DeliveryStatus } from '../../domain/status.js'
import { findWritten } from '../notification/notifications.js'
import { type Queryable, queryValue, queryValues, run } from '../postgres.js'
import { type FoundStatus, STATUS_COLUMNS } from './deliveries.js'

export interface StoredDelivery extends Scope {
  notification: string
  step: number
  condition: StepCondition
  dueAt: Date
  attempt: number
  leaseOwner: string | null
  /** Every message with every carrier that it was claimed for (domain/carrier-source.ts). */
  attempted: readonly string[]
  status: DeliveryStatus
}

export interface ChainHead {
  seq: number
  at: Date
  hash: string
}

/** A notification that is neither free nor busy does not exist. */
interface Locked {
  free: Set<string>
  /** Another transaction holds them. */
  busy: Set<string>
}

/**
 * Locks the notifications that no other transaction holds, in the order of their ids. It never waits: one notification that a
 * frozen node holds must not delay the facts about all others.
 */
export async function lockNotifications(db: Queryable, ids: readonly string[]): Promise<Locked> {
  const free = new Set(
    await queryValues<string>(db, {
      name: 'lock-notifications',
      text: 'select id from notification where id = any($1::uuid[]) order by id for no key update skip locked',
      values: [ids],
    }),
  )
  const others = ids.filter(id => !free.has(id))
  return { free, busy: others.length === 0 ? new Set() : await findWritten(db, others) }
}

interface LockedRow extends Omit<StoredDelivery, 'status'>, FoundStatus {
  siblings: number
  headSeq: number
  headAt: Date
  headHash: string
}

interface LockedDeliveries {
  deliveries: StoredDelivery[]
  heads: Map<string, ChainHead>
  /** Notifications of which another transaction holds some delivery. Nothing of them is returned. */
  busy: Set<string>
}

/**
 * Locks and reads every delivery of the locked notifications, and the last event of each chain. Locked, because a claim or a return
 * locks the delivery alone: between an unlocked read and the write of the status it would be overwritten.
 */
export async function readLocked(db: Queryable, ids: readonly string[]): Promise<LockedDeliveries> {
  const { rows } = await run<LockedRow>(db, {
    name: 'read-locked',
    text: `select ${STATUS_COLUMNS}, d.account_id as account, d.mode, d.step, d.condition, d.due_at as "dueAt", d.attempt, d.lease_owner as "leaseOwner",
             coalesce(d.attempted, '{}') as attempted, (select count(*) from delivery s where s.notification_id = n.id) as siblings,
             e.seq as "headSeq", e.at as "headAt", encode(e.hash, 'hex') as "headHash"
           from notification n join delivery d on d.notification_id = n.id
           cross join lateral (select seq, at, hash from event where notification_id = n.id order by seq desc limit 1) e
           where n.id = any($1::uuid[]) and d.notification_id = any($1::uuid[]) order by n.id, d.channel for no key update of d skip locked`,
    values: [ids],
  })
  const seen = new Map<string, number>()
  for (const { notification } of rows) seen.set(notification, (seen.get(notification) ?? 0) + 1)
  const busy = await findHeld(db, ids, seen)
  const heads = new Map<string, ChainHead>()
  const deliveries: StoredDelivery[] = []
  for (const row of rows) {
    const {
      notification,
      account,
      mode,
      step,
      condition,
      dueAt,
      attempt,
      leaseOwner,
      attempted,
      siblings,
      headSeq,
      headAt,
      headHash,
      ...status
    } = row
    if (siblings !== seen.get(notification)) busy.add(notification)
    if (busy.has(notification)) continue
    heads.set(notification, { seq: headSeq, at: headAt, hash: headHash })
    deliveries.push({ notification, account, mode, step, condition, dueAt, attempt, leaseOwner, attempted, status })
  }
  return { deliveries: deliveries.sort((a, b) => a.step - b.step), heads, busy }
}

/** The notifications of which other transactions hold every delivery. */
async function findHeld(db: Queryable, ids: readonly string[], seen: ReadonlyMap<string, number>): Promise<Set<string>> {
  const unseen = ids.filter(id => !seen.has(id))
  if (unseen.length === 0) return new Set()
  return new Set(
    await queryValues<string>(db, 'select distinct notification_id from delivery where notification_id = any($1::uuid[])', [
      unseen,
    ]),
  )
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

export interface EventWrite extends Scope {
  event: ChainedEvent
  channel: Channel
  /** Whether senders' webhooks announce it. */
  announced: boolean
}

/** The carrier's own reference of a message, or of one part of it. */
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
 * Writes events, statuses, the outbox of webhooks and the carriers' references in one statement. The lease of each written delivery
 * ends, unless the delivery is still being sent. Returns how many webhook messages were queued.
 */
export const writeRecords = async (
  db: Queryable,
  events: readonly EventWrite[],
  deliveries: readonly DeliveryWrite[],
  references: readonly ReferenceWrite[] = [],
): Promise<number> =>
  (await queryValue<number>(db, {
    name: 'write-records',
    text: WRITE_RECORDS,
    values: [
      JSON.stringify(events.map(({ event, ...write }) => ({ ...event, ...write, salt: event.salt.toString('hex') }))),
      JSON.stringify(deliveries.map(({ status, ...write }) => ({ ...status, ...write }))),
      JSON.stringify(references),
    ],
  }))!

const WRITE_RECORDS = `
  with happened as materialized (
    select * from json_to_recordset($1) as e(notification uuid, seq int, at timestamptz, type text, source text, data jsonb, salt text,
      commit text, prev text, hash text, account uuid, mode text, channel text, announced boolean)
  ), changed as materialized (
    select * from json_to_recordset($2) as u(notification uuid, channel text, state text, "delayMs" bigint, failover boolean, bind text,
      "processedAt" timestamptz, "preparedAt" timestamptz, "sentAt" timestamptz, "deliveredAt" timestamptz, "readAt" timestamptz,
      "confirmedAt" timestamptz, "linkOpenedAt" timestamptz, "answeredAt" timestamptz, "failedAt" timestamptz, "cancelledAt" timestamptz,
      "cancelReason" text, failure text, "failureDetail" text, answers jsonb, "trackingCode" text, ordinal int, "unknownCount" int, parts jsonb, taken jsonb)
  ), events as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select notification, seq, at, type, source, data, decode(salt, 'hex'), decode(commit, 'hex'), decode(prev, 'hex'), decode(hash, 'hex')
    from happened
  ), messages as (
    insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
    select gen_random_uuid(), w.id, e.notification, e.channel, e.seq, case when w.disabled_at is null then 'queued' else 'held' end
    from happened e
    join webhook_endpoint w on w.account_id = e.account and w.mode = e.mode and w.deleted_at is null
      and (w.channels is null or e.channel = any(w.channels)) and (w.statuses is null or e.type = any(w.statuses))
    where e.announced
    order by e.notification, e.seq
    returning state
  ), refs as (
    insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts)
    select * from json_to_recordset($3)
      as r(carrier text, reference text, notification uuid, channel text, ordinal smallint, part smallint, parts smallint)
    on conflict do nothing
  ), statuses as (
    update delivery d set
      state = u.state, due_at = coalesce(now() + u."delayMs" * interval '1 millisecond', d.due_at),
      lease_owner = case when u.state = 'sending' then d.lease_owner end, lease_until = case when u.state = 'sending' then d.lease_until end,
      attempt = case when u.ordinal > d.ordinal then 0 else d.attempt end, failovers = case when u.ordinal > d.ordinal then 0 else d.failovers end,
      tried = case when u.failover or u.state = 'sending' then d.tried end,
      bound_carrier = case when u.ordinal > d.ordinal or u.bind = 'none' then null when u.bind = 'carrier' then d.carrier else d.bound_carrier end,
      processed_at = u."processedAt", prepared_at = u."preparedAt", sent_at = u."sentAt", delivered_at = u."deliveredAt", read_at = u."readAt",
      confirmed_at = u."confirmedAt", link_opened_at = u."linkOpenedAt", answered_at = u."answeredAt", failed_at = u."failedAt",
      cancelled_at = u."cancelledAt", cancel_reason = u."cancelReason", failure = u.failure, failure_detail = u."failureDetail",
      answers = nullif(u.answers, '[]'), tracking_code = u."trackingCode", ordinal = u.ordinal, unknown_count = u."unknownCount", parts = nullif(u.parts, '[]'), taken = u.taken
    from changed u
    -- The list of ids limits the update to the months that hold them, before the join.
    where d.notification_id = u.notification and d.channel = u.channel
      and d.notification_id = any(array(select notification from changed))
  )
  select count(*) as queued from messages where state = 'queued'`
