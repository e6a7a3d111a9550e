import type { Channel } from '../../domain/channel.js'
import type { PackedContent } from '../../domain/delivery/sent-content.js'
import type { DeliveryStatus } from '../../domain/delivery/status.js'
import type { ChainedEvent } from '../../domain/evidence/evidence.js'
import type { Scope } from '../../domain/scope.js'
import { type IdMonths, nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { type Queryable, queryValue } from '../postgres.js'

export interface DeliveryWrite {
  notification: string
  status: DeliveryStatus
  /** When it is due, from now; null leaves the date alone. */
  delayMs: number | null
  /** Whether another carrier may take it before that. */
  failover: boolean
  /** Which carriers may take it from now on: only the carrier of its latest attempt, any, or the same ones as before. */
  bind: 'carrier' | 'none' | 'keep'
  /** Its claim ends as if it had not been made: the attempt does not count. */
  undoesClaim: boolean
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

/** A content as it left, and the event that states it. */
export interface ContentWrite {
  notification: string
  seq: number
  channel: Channel
  content: PackedContent
}

/** By how much the counts of one hour of acceptance change. */
export interface Tally extends Scope {
  hour: Date
  channel: Channel
  sent: number
  delivered: number
  read: number
  failed: number
}

/** A message that a carrier took. */
export interface UsageWrite extends Scope {
  channel: Channel
  carrier: string
  units: number
}

/** A change of what the sends of a month have bound of their account's cap. */
export interface CostWrite extends Scope {
  acceptedAt: Date
  amount: number
}

/** The rows of one group of changes. */
interface RecordWrites {
  events: readonly EventWrite[]
  deliveries: readonly DeliveryWrite[]
  references: readonly ReferenceWrite[]
  contents: readonly ContentWrite[]
  tallies: readonly Tally[]
  usage: readonly UsageWrite[]
  costs: readonly CostWrite[]
}

/**
 * Writes events, statuses, the outbox of webhooks, the carriers' references, the contents that left and the counts in one statement.
 * The lease of each written delivery ends, unless the delivery is still being sent. Returns how many webhook messages were queued.
 */
export const writeRecords = async (
  db: Queryable,
  { events, deliveries, references, contents, tallies, usage, costs }: RecordWrites,
): Promise<number> => {
  const months = recentMonthsOfIds(deliveries.map(({ notification }) => notification))
  const queued = await queryValue<number>(db, {
    name: nameWithin(months, 'write-records'),
    text: writeRecordsIn(months),
    values: [
      JSON.stringify(events.map(({ event, ...write }) => ({ ...event, ...write, salt: event.salt.toString('hex') }))),
      JSON.stringify(deliveries.map(({ status, ...write }) => ({ ...status, ...write }))),
      JSON.stringify(references),
      JSON.stringify(contents.map(contentRow)),
      JSON.stringify(tallies),
      JSON.stringify(usage),
      JSON.stringify(costs),
    ],
  })
  return queued!
}

const contentRow = ({ content: { statement, salt, bytes, ...packed }, ...of }: ContentWrite) => ({
  ...of,
  ...packed,
  type: statement.type,
  size: statement.size,
  sha256: statement.sha256,
  salt: salt?.toString('hex') ?? null,
  bytes: bytes.toString('base64'),
})

/** `months`: those of the written deliveries. */
const writeRecordsIn = (months: IdMonths | null): string => `
  with happened as materialized (
    select * from json_to_recordset($1) as e(notification uuid, seq int, at timestamptz, type text, source text, data jsonb, salt text,
      commit text, prev text, hash text, account uuid, mode text, channel text, announced boolean)
  ), changed as materialized (
    select * from json_to_recordset($2) as u(notification uuid, channel text, state text, "delayMs" bigint, failover boolean, bind text, "undoesClaim" boolean,
      "processedAt" timestamptz, "preparedAt" timestamptz, "sentAt" timestamptz, "deliveredAt" timestamptz, "readAt" timestamptz,
      "confirmedAt" timestamptz, "linkOpenedAt" timestamptz, "answeredAt" timestamptz, "failedAt" timestamptz, "cancelledAt" timestamptz,
      "cancelReason" text, failure text, "failureDetail" text, answers jsonb, "trackingCode" text, recording text, ordinal int, "unknownCount" int,
      resent boolean, parts jsonb, taken jsonb)
  ), events as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select notification, seq, at, type, source, data, decode(salt, 'hex'), decode(commit, 'hex'), decode(prev, 'hex'), decode(hash, 'hex')
    from happened
  ), messages as (
    insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
    select ordered_id(), w.id, e.notification, e.channel, e.seq, case when w.disabled_at is null then 'queued' else 'held' end
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
  ), contents as (
    insert into sent_content (notification_id, seq, channel, type, extension, size, sha256, files, hidden, salt, message, packing, bytes)
    select notification, seq, channel, type, extension, size, decode(sha256, 'hex'), files, hidden, decode(salt, 'hex'), message, packing, decode(bytes, 'base64')
    from json_to_recordset($4) as c(notification uuid, seq int, channel text, type text, extension text, size int, sha256 text, files jsonb,
      hidden jsonb, salt text, message jsonb, packing text, bytes text)
  ), tallies as (
    insert into delivery_tally (mode, hour, account_id, channel, sent, delivered, read, failed)
    select * from json_to_recordset($5)
      as t(mode text, hour timestamptz, account uuid, channel text, sent int, delivered int, read int, failed int)
  ), usage as (
    -- Nobody charges for simulated messages.
    insert into usage_tally (mode, day, account_id, channel, carrier, messages, units, cost)
    select mode, (now() at time zone 'America/Sao_Paulo')::date, account, channel, carrier, 1, units,
      units * case when carrier like 'simulator/%' then 0 else coalesce((select p.price from price p where p.channel = u.channel
        and p.carrier in (u.carrier, split_part(u.carrier, ':', 1), '') order by length(p.carrier) desc limit 1), 0) end
    from json_to_recordset($6) as u(mode text, account uuid, channel text, carrier text, units int)
  ), costs as (
    insert into cost_tally (account_id, mode, month, amount)
    select account, mode, date_trunc('month', "acceptedAt" at time zone 'America/Sao_Paulo'), amount
    from json_to_recordset($7) as c(account uuid, mode text, "acceptedAt" timestamptz, amount numeric)
  ), statuses as (
    update delivery d set
      state = u.state, due_at = coalesce(now() + u."delayMs" * interval '1 millisecond', d.due_at),
      lease_owner = case when u.state = 'sending' then d.lease_owner end, lease_until = case when u.state = 'sending' then d.lease_until end,
      attempt = case when u.ordinal > d.ordinal then 0 else d.attempt - u."undoesClaim"::int end,
      failovers = case when u.ordinal > d.ordinal then 0 else d.failovers - (u."undoesClaim" and coalesce(cardinality(d.tried), 0) > 1)::int end,
      tried = case when u.failover or u.state = 'sending' then d.tried end,
      bound_carrier = case when u.ordinal > d.ordinal or u.bind = 'none' then null when u.bind = 'carrier' then d.carrier else d.bound_carrier end,
      processed_at = u."processedAt", prepared_at = u."preparedAt", sent_at = u."sentAt", delivered_at = u."deliveredAt", read_at = u."readAt",
      confirmed_at = u."confirmedAt", link_opened_at = u."linkOpenedAt", answered_at = u."answeredAt", failed_at = u."failedAt",
      cancelled_at = u."cancelledAt", cancel_reason = u."cancelReason", failure = u.failure, failure_detail = u."failureDetail",
      answers = nullif(u.answers, '[]'), tracking_code = u."trackingCode", recording = decode(u.recording, 'hex'), ordinal = u.ordinal,
      unknown_count = u."unknownCount", resent = u.resent, parts = nullif(u.parts, '[]'), taken = u.taken
    from changed u
    -- The list of ids limits the update to them before the join: with the months alone, a whole month might be read.
    where d.notification_id = u.notification and d.channel = u.channel
      and d.notification_id = any(array(select notification from changed)) and ${withinMonths(months, 'd.notification_id')}
  )
  select count(*) as queued from messages where state = 'queued'`
