import type { Channel } from '../../domain/channel.js'
import { type DeliveryState, type DeliveryStatus, isUnknown } from '../../domain/delivery/status.js'
import type { Scope } from '../../domain/scope.js'
import { FALLBACK_STEP, type StepCondition } from '../../domain/send/sequence.js'
import { type IdMonths, monthOfId, nameWithin, withinMonths } from '../months.js'
import { matchesRow, type Queryable, queryRow, queryRows, queryValue, queryValues, run } from '../postgres.js'

export interface StatusQuestion {
  scope: Scope
  notification: string
  channel: Channel
}

export interface FoundStatus extends DeliveryStatus {
  notification: string
  customId: string | null
}

/** The columns of a FoundStatus, of the delivery d. */
export const STATUS_COLUMNS = `d.notification_id as notification, d.custom_id as "customId", d.channel, d.state,
  d.step = ${FALLBACK_STEP} as "isFallback", d.accepted_at as "acceptedAt", d.processed_at as "processedAt", d.prepared_at as "preparedAt",
  d.sent_at as "sentAt", d.delivered_at as "deliveredAt", d.read_at as "readAt", d.confirmed_at as "confirmedAt",
  d.link_opened_at as "linkOpenedAt", d.answered_at as "answeredAt", d.failed_at as "failedAt", d.cancelled_at as "cancelledAt",
  d.cancel_reason as "cancelReason", d.failure, d.failure_detail as "failureDetail", coalesce(d.answers, '[]') as answers,
  d.tracking_code as "trackingCode", encode(d.recording, 'hex') as recording, d.ordinal, d.unknown_count as "unknownCount", d.resent,
  coalesce(d.parts, '[]') as parts, d.taken`

/**
 * What they read of the delivery d, for a subquery: of every column that it selects, the server prepares a value for each month, read or not,
 * and a delivery has twice as many. A single lookup takes the database 6 % less than with all of them.
 */
export const DELIVERY_COLUMNS = [...new Set(STATUS_COLUMNS.match(/\bd\.\w+/g))].join(', ')

/** When the outcome of the delivery d became unknown. */
const unknownAt = (months: IdMonths | null = null): string => `(select e.at from event e
     where e.notification_id = d.notification_id and ${withinMonths(months, 'e.notification_id')}
       and (e.type = 'uncertain' or e.type = 'unresolved' and e.data ? 'restored') and e.data ->> 'channel' = d.channel order by e.seq desc limit 1)`

/** The column that makes a status a DatedStatus. */
export const UNKNOWN_SINCE = `case when d.state in ('uncertain', 'unresolved') then ${unknownAt()} end as "unknownSince"`

/**
 * The same for the statuses of a page: most pages have no unknown outcome, and a statement that looks for one costs a fifth more. `months`:
 * those of all of them, where they are known.
 */
export async function addUnknownSince<Status extends FoundStatus>(
  db: Queryable,
  statuses: readonly Status[],
  months: IdMonths | null,
): Promise<(Status & { unknownSince: Date | null })[]> {
  const unknown = statuses.filter(({ state }) => isUnknown(state))
  const found = unknown.length === 0 ? [] : await readUnknownSince(db, unknown, months)
  const since = new Map(unknown.map((status, place) => [status, found[place]!]))
  return statuses.map(status => Object.assign(status, { unknownSince: since.get(status) ?? null }))
}

const readUnknownSince = (db: Queryable, statuses: readonly FoundStatus[], months: IdMonths | null): Promise<(Date | null)[]> =>
  queryValues(db, {
    name: nameWithin(months, 'read-unknown-since'),
    text: `select ${unknownAt(months)} from unnest($1::uuid[], $2::text[]) with ordinality as d(notification_id, channel, place) order by place`,
    values: [statuses.map(({ notification }) => notification), statuses.map(({ channel }) => channel)],
  })

/** Lookups of so many months are answered by one statement for each month, of more by one statement over all months. */
const MOST_MONTHS = 4

/** Answers many lookups with few queries, each for its own scope; null where there is no such delivery. */
export async function findStatuses(db: Queryable, questions: readonly StatusQuestion[]): Promise<(FoundStatus | null)[]> {
  const places = new Map<string, number[]>()
  for (const [place, { notification }] of questions.entries()) {
    const name = monthOfId(notification)?.name ?? ''
    places.set(name, [...(places.get(name) ?? []), place])
  }
  const groups = places.size > MOST_MONTHS ? [[...questions.keys()]] : [...places.values()]
  const found: (FoundStatus | null)[] = questions.map(() => null)
  const answer = async (group: readonly number[]): Promise<void> => {
    const month = groups.length < places.size ? null : monthOfId(questions[group[0]!]!.notification)
    const asked = group.map(place => questions[place]!)
    for (const { place, ...status } of await findStatusesIn(db, month, asked)) found[group[place - 1]!] = status
  }
  await Promise.all(groups.map(answer))
  return found
}

/**
 * offset 0: each delivery is looked up by its key. As a join, a month without statistics (its first minutes, a restored database) would
 * be read whole for every lookup, because the server takes the bounds of the month for a narrow range.
 */
async function findStatusesIn(
  db: Queryable,
  month: IdMonths | null,
  questions: readonly StatusQuestion[],
): Promise<(FoundStatus & { place: number })[]> {
  const { rows } = await run<FoundStatus & { place: number }>(db, {
    name: month === null ? 'find-statuses' : `find-statuses ${month.name}`,
    text: `select q.place, ${STATUS_COLUMNS}
           from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) with ordinality as q(notification_id, channel, account_id, mode, place)
           cross join lateral (select ${DELIVERY_COLUMNS}, d.account_id, d.mode from delivery d
             where d.notification_id = q.notification_id and d.channel = q.channel and ${withinMonths(month, 'd.notification_id')} offset 0) d
           where d.account_id = q.account_id and d.mode = q.mode`,
    values: [
      questions.map(question => question.notification),
      questions.map(question => question.channel),
      questions.map(({ scope }) => scope.account),
      questions.map(({ scope }) => scope.mode),
    ],
  })
  return rows
}

/** All channels of many notifications of a scope, and since when an outcome is unknown. */
export const findDatedStatuses = (
  db: Queryable,
  { account, mode }: Scope,
  ids: readonly string[],
): Promise<(FoundStatus & { unknownSince: Date | null })[]> =>
  queryRows(db, {
    name: 'find-dated-statuses',
    text: `select ${STATUS_COLUMNS}, ${UNKNOWN_SINCE} from delivery d
           where d.notification_id = any($1::uuid[]) and d.account_id = $2 and d.mode = $3`,
    values: [ids, account, mode],
  })

export interface NotificationStatuses {
  code: number
  /** With the number of parts of each message, where it is known, and since when an outcome is unknown. */
  statuses: (FoundStatus & { segments: number | null; unknownSince: Date | null })[]
}

/** All channels of one notification. */
export async function findNotification(
  db: Queryable,
  { account, mode }: Scope,
  id: string,
): Promise<NotificationStatuses | null> {
  const rows = await queryRows<NotificationStatuses['statuses'][number] & { code: number }>(
    db,
    `select n.code, ${STATUS_COLUMNS},
       (select (e.data ->> 'segments')::int from event e
        where e.notification_id = n.id and e.type = 'sent' and e.data ->> 'channel' = d.channel order by e.seq desc limit 1) as segments,
       ${UNKNOWN_SINCE}
     from notification n join delivery d on d.notification_id = n.id
     where n.id = $1 and n.account_id = $2 and n.mode = $3
     order by d.step, d.channel`,
    [id, account, mode],
  )
  return rows[0] === undefined ? null : { code: rows[0].code, statuses: rows }
}

/** Whether and when a delivery was sent; null: there is no such delivery. */
export const findSendState = (
  db: Queryable,
  id: string,
  channel: Channel,
): Promise<{ sentAt: Date | null; state: DeliveryState } | null> =>
  queryRow(db, {
    name: 'find-send-state',
    text: 'select sent_at as "sentAt", state from delivery where notification_id = $1 and channel = $2',
    values: [id, channel],
  })

/** null: there is no such delivery, or its recipient was erased. */
export const findRecipient = (db: Queryable, id: string, channel: Channel): Promise<string | null> =>
  queryValue(db, {
    name: 'find-recipient',
    text: 'select recipient from delivery where notification_id = $1 and channel = $2',
    values: [id, channel],
  })

export const belongsTo = (db: Queryable, { account, mode }: Scope, id: string): Promise<boolean> =>
  matchesRow(db, 'select from notification where id = $1 and account_id = $2 and mode = $3', [id, account, mode])

export interface ComingStep {
  channel: Channel
  state: 'waiting' | 'queued'
  /** null: no date decides, but the failure of the steps before it. */
  dueAt: Date | null
  condition: StepCondition
  /** Why the rules of contact keep it back, in words; null: they do not. */
  reason: string | null
  /** A person holds its channel, its account or everything back. */
  isHeld: boolean
}

/** The steps of a notification that are still to come, in their order; null: the scope has no such notification. */
export async function findComing(db: Queryable, scope: Scope, id: string): Promise<ComingStep[] | null> {
  if (!(await belongsTo(db, scope, id))) return null
  const { rows } = await run<ComingStep>(
    db,
    `select channel, state, case when state <> 'waiting' or condition <> 'failed' then due_at end as "dueAt", condition,
       case when state = 'queued' and due_at > now() then
         (select case when e.type = 'postponed' then e.data ->> 'reason' end from event e
          where e.notification_id = delivery.notification_id and e.data ->> 'channel' = delivery.channel and e.type <> 'note'
          order by e.seq desc limit 1)
       end as reason,
       exists (select from hold h where (h.channel is null or h.channel = delivery.channel) and h.carrier is null
         and (h.account_id is null or h.account_id = delivery.account_id)) as "isHeld"
     from delivery where notification_id = $1 and state in ('waiting', 'queued') order by due_at, step`,
    [id],
  )
  return rows
}
