import type { Channel } from '../../domain/channel.js'
import type { PackedContent } from '../../domain/delivery/sent-content.js'
import type { DeliveryStatus } from '../../domain/delivery/status.js'
import type { ChainedEvent } from '../../domain/evidence/evidence.js'
import type { Scope } from '../../domain/scope.js'
import { type Columns, column, columnValues, decimalColumn, hexColumn, selectInTurn } from '../columns.js'
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

/** Messages of an account that a carrier took. */
export interface UsageWrite extends Scope {
  channel: Channel
  carrier: string
  messages: number
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

const eventColumns: Columns<EventWrite> = {
  notification: column('uuid', ({ event }) => event.notification),
  seq: column('int', ({ event }) => event.seq),
  at: column('timestamptz', ({ event }) => event.at),
  type: column('text', ({ event }) => event.type),
  source: column('text', ({ event }) => event.source),
  data: column('jsonb', ({ event }) => JSON.stringify(event.data)),
  salt: column('bytea', ({ event }) => event.salt),
  commit: hexColumn(({ event }) => event.commit),
  prev: hexColumn(({ event }) => event.prev),
  hash: hexColumn(({ event }) => event.hash),
  account: column('uuid', ({ account }) => account),
  mode: column('text', ({ mode }) => mode),
  channel: column('text', ({ channel }) => channel),
  announced: column('boolean', ({ announced }) => announced),
}

const deliveryColumns: Columns<DeliveryWrite> = {
  notification: column('uuid', ({ notification }) => notification),
  channel: column('text', ({ status }) => status.channel),
  state: column('text', ({ status }) => status.state),
  delayMs: column('bigint', ({ delayMs }) => delayMs),
  failover: column('boolean', ({ failover }) => failover),
  bind: column('text', ({ bind }) => bind),
  undoesClaim: column('boolean', ({ undoesClaim }) => undoesClaim),
  processedAt: column('timestamptz', ({ status }) => status.processedAt),
  preparedAt: column('timestamptz', ({ status }) => status.preparedAt),
  sentAt: column('timestamptz', ({ status }) => status.sentAt),
  deliveredAt: column('timestamptz', ({ status }) => status.deliveredAt),
  readAt: column('timestamptz', ({ status }) => status.readAt),
  confirmedAt: column('timestamptz', ({ status }) => status.confirmedAt),
  linkOpenedAt: column('timestamptz', ({ status }) => status.linkOpenedAt),
  answeredAt: column('timestamptz', ({ status }) => status.answeredAt),
  failedAt: column('timestamptz', ({ status }) => status.failedAt),
  cancelledAt: column('timestamptz', ({ status }) => status.cancelledAt),
  cancelReason: column('text', ({ status }) => status.cancelReason),
  failure: column('text', ({ status }) => status.failure),
  failureDetail: column('text', ({ status }) => status.failureDetail),
  answers: column('jsonb', ({ status }) => unlessEmpty(status.answers)),
  trackingCode: column('text', ({ status }) => status.trackingCode),
  recording: hexColumn(({ status }) => status.recording),
  ordinal: column('int', ({ status }) => status.ordinal),
  unknownCount: column('int', ({ status }) => status.unknownCount),
  resent: column('boolean', ({ status }) => status.resent),
  parts: column('jsonb', ({ status }) => unlessEmpty(status.parts)),
  taken: column('jsonb', ({ status }) => jsonOf(status.taken)),
}

const referenceColumns: Columns<ReferenceWrite> = {
  carrier: column('text', ({ carrier }) => carrier),
  reference: column('text', ({ reference }) => reference),
  notification: column('uuid', ({ notification }) => notification),
  channel: column('text', ({ channel }) => channel),
  ordinal: column('smallint', ({ ordinal }) => ordinal),
  part: column('smallint', ({ part }) => part),
  parts: column('smallint', ({ parts }) => parts),
}

const contentColumns: Columns<ContentWrite> = {
  notification: column('uuid', ({ notification }) => notification),
  seq: column('int', ({ seq }) => seq),
  channel: column('text', ({ channel }) => channel),
  type: column('text', ({ content }) => content.statement.type),
  extension: column('text', ({ content }) => content.extension),
  size: column('int', ({ content }) => content.statement.size),
  sha256: hexColumn(({ content }) => content.statement.sha256),
  files: column('jsonb', ({ content }) => jsonOf(content.files)),
  hidden: column('jsonb', ({ content }) => jsonOf(content.hidden)),
  salt: column('bytea', ({ content }) => content.salt),
  message: column('jsonb', ({ content }) => jsonOf(content.message)),
  packing: column('text', ({ content }) => content.packing),
  bytes: column('bytea', ({ content }) => content.bytes),
}

const tallyColumns: Columns<Tally> = {
  mode: column('text', ({ mode }) => mode),
  hour: column('timestamptz', ({ hour }) => hour),
  account: column('uuid', ({ account }) => account),
  channel: column('text', ({ channel }) => channel),
  sent: column('int', ({ sent }) => sent),
  delivered: column('int', ({ delivered }) => delivered),
  read: column('int', ({ read }) => read),
  failed: column('int', ({ failed }) => failed),
}

const usageColumns: Columns<UsageWrite> = {
  mode: column('text', ({ mode }) => mode),
  account: column('uuid', ({ account }) => account),
  channel: column('text', ({ channel }) => channel),
  carrier: column('text', ({ carrier }) => carrier),
  messages: column('int', ({ messages }) => messages),
  units: column('int', ({ units }) => units),
}

const costColumns: Columns<CostWrite> = {
  account: column('uuid', ({ account }) => account),
  mode: column('text', ({ mode }) => mode),
  acceptedAt: column('timestamptz', ({ acceptedAt }) => acceptedAt),
  amount: decimalColumn(({ amount }) => amount),
}

const jsonOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

const unlessEmpty = (list: readonly unknown[]): string | null => (list.length === 0 ? null : JSON.stringify(list))

const [happened, changed, references, contents, tallies, usage, costs] = selectInTurn([
  eventColumns,
  deliveryColumns,
  referenceColumns,
  contentColumns,
  tallyColumns,
  usageColumns,
  costColumns,
])

/**
 * Writes events, statuses, the outbox of webhooks, the carriers' references, the contents that left and the counts in one statement.
 * The lease of each written delivery ends, unless the delivery is still being sent. Returns how many webhook messages were queued.
 */
export const writeRecords = async (db: Queryable, writes: RecordWrites): Promise<number> => {
  const months = recentMonthsOfIds(writes.deliveries.map(({ notification }) => notification))
  const queued = await queryValue<number>(db, {
    name: nameWithin(months, 'write-records'),
    text: writeRecordsIn(months),
    values: [
      ...columnValues(eventColumns, writes.events),
      ...columnValues(deliveryColumns, writes.deliveries),
      ...columnValues(referenceColumns, writes.references),
      ...columnValues(contentColumns, writes.contents),
      ...columnValues(tallyColumns, writes.tallies),
      ...columnValues(usageColumns, writes.usage),
      ...columnValues(costColumns, writes.costs),
    ],
  })
  return queued!
}

/** `months`: those of the written deliveries. */
const writeRecordsIn = (months: IdMonths | null): string => `
  with happened as materialized (
    ${happened}
  ), changed as materialized (
    -- The server takes an array for ten elements long, and would compare each of them with each delivery. It expects a hundred times as many here.
    ${changed} from json_array_elements('[0]')
  ), events as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select notification, seq, at, type, source, data, salt, commit, prev, hash from happened
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
    ${references}
    on conflict do nothing
  ), contents as (
    insert into sent_content (notification_id, seq, channel, type, extension, size, sha256, files, hidden, salt, message, packing, bytes)
    ${contents}
  ), tallies as (
    insert into delivery_tally (mode, hour, account_id, channel, sent, delivered, read, failed)
    ${tallies}
  ), usage as (
    -- Nobody charges for simulated messages.
    insert into usage_tally (mode, day, account_id, channel, carrier, messages, units, cost)
    select mode, (now() at time zone 'America/Sao_Paulo')::date, account, channel, carrier, messages, units,
      units * case when carrier like 'simulator/%' then 0 else coalesce((select p.price from price p where p.channel = u.channel
        and p.carrier in (u.carrier, split_part(u.carrier, ':', 1), '') order by length(p.carrier) desc limit 1), 0) end
    from (${usage}) u
  ), costs as (
    insert into cost_tally (account_id, mode, month, amount)
    select account, mode, date_trunc('month', "acceptedAt" at time zone 'America/Sao_Paulo'), amount
    from (${costs}) c
  ), statuses as (
    update delivery d set
      state = u.state, due_at = coalesce(now() + u."delayMs" * interval '1 millisecond', d.due_at),
      lease_owner = case when u.state = 'sending' then d.lease_owner end, lease_until = case when u.state = 'sending' then d.lease_until end,
      attempt = case when u.ordinal > d.ordinal then 0 else d.attempt - u."undoesClaim"::int end,
      failovers = case when u.ordinal > d.ordinal then 0 else d.failovers - (u."undoesClaim" and coalesce(cardinality(d.tried), 0) > 1)::int end,
      tried = case when u.failover or u.state = 'sending' then d.tried end,
      delayed = case when u."undoesClaim" then false when u.state = d.state and u.ordinal = d.ordinal then d.delayed end,
      bound_carrier = case when u.ordinal > d.ordinal or u.bind = 'none' then null when u.bind = 'carrier' then d.carrier else d.bound_carrier end,
      processed_at = u."processedAt", prepared_at = u."preparedAt", sent_at = u."sentAt", delivered_at = u."deliveredAt", read_at = u."readAt",
      confirmed_at = u."confirmedAt", link_opened_at = u."linkOpenedAt", answered_at = u."answeredAt", failed_at = u."failedAt",
      cancelled_at = u."cancelledAt", cancel_reason = u."cancelReason", failure = u.failure, failure_detail = u."failureDetail",
      answers = u.answers, tracking_code = u."trackingCode", recording = u.recording, ordinal = u.ordinal,
      unknown_count = u."unknownCount", resent = u.resent, parts = u.parts, taken = u.taken
    from changed u
    -- The list of ids limits the update to them before the join: with the months alone, a whole month might be read.
    where d.notification_id = u.notification and d.channel = u.channel
      and d.notification_id = any(array(select notification from changed)) and ${withinMonths(months, 'd.notification_id')}
  )
  select count(*) as queued from messages where state = 'queued'`
