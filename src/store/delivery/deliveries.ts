import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import { FALLBACK_STEP, type StepCondition } from '../../domain/sequence.js'
import type { DeliveryState, DeliveryStatus } from '../../domain/status.js'
import { matchesRow, type Queryable, queryRow, queryRows, queryValue, run } from '../postgres.js'

export interface StatusQuestion {
  scope: Scope
  notification: string
  channel: Channel
}

export interface FoundStatus extends DeliveryStatus {
  notification: string
  customId: string | null
}

/** The columns of a FoundStatus, of the delivery d and its notification n. */
export const STATUS_COLUMNS = `d.notification_id as notification, n.custom_id as "customId", d.channel, d.state,
  d.step = ${FALLBACK_STEP} as "isFallback", n.accepted_at as "acceptedAt", d.processed_at as "processedAt", d.prepared_at as "preparedAt",
  d.sent_at as "sentAt", d.delivered_at as "deliveredAt", d.read_at as "readAt", d.confirmed_at as "confirmedAt",
  d.link_opened_at as "linkOpenedAt", d.answered_at as "answeredAt", d.failed_at as "failedAt", d.cancelled_at as "cancelledAt",
  d.cancel_reason as "cancelReason", d.failure, d.failure_detail as "failureDetail", coalesce(d.answers, '[]') as answers,
  d.tracking_code as "trackingCode", d.ordinal, d.unknown_count as "unknownCount", coalesce(d.parts, '[]') as parts, d.taken`

/** Answers many lookups with one query, each for its own scope; null where there is no such delivery. */
export async function findStatuses(db: Queryable, questions: readonly StatusQuestion[]): Promise<(FoundStatus | null)[]> {
  const { rows } = await run<FoundStatus & { place: number }>(db, {
    name: 'find-statuses',
    text: `select q.place, ${STATUS_COLUMNS}
           from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) with ordinality as q(notification_id, channel, account_id, mode, place)
           join delivery d on d.notification_id = q.notification_id and d.channel = q.channel and d.account_id = q.account_id and d.mode = q.mode
           join notification n on n.id = q.notification_id`,
    values: [
      questions.map(question => question.notification),
      questions.map(question => question.channel),
      questions.map(({ scope }) => scope.account),
      questions.map(({ scope }) => scope.mode),
    ],
  })
  const found: (FoundStatus | null)[] = questions.map(() => null)
  for (const { place, ...status } of rows) found[place - 1] = status
  return found
}

export interface NotificationStatuses {
  code: number
  /** With the number of parts of each message, where it is known. */
  statuses: (FoundStatus & { segments: number | null })[]
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
        where e.notification_id = n.id and e.type = 'sent' and e.data ->> 'channel' = d.channel order by e.seq desc limit 1) as segments
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
  queryRow(db, 'select sent_at as "sentAt", state from delivery where notification_id = $1 and channel = $2', [id, channel])

/** null: there is no such delivery, or its recipient was erased. */
export const findRecipient = (db: Queryable, id: string, channel: Channel): Promise<string | null> =>
  queryValue(db, 'select recipient from delivery where notification_id = $1 and channel = $2', [id, channel])

export const belongsTo = (db: Queryable, { account, mode }: Scope, id: string): Promise<boolean> =>
  matchesRow(db, 'select from notification where id = $1 and account_id = $2 and mode = $3', [id, account, mode])

export interface ComingStep {
  channel: Channel
  state: 'waiting' | 'queued'
  /** null: no date decides, but the failure of the steps before it. */
  dueAt: Date | null
  condition: StepCondition
}

/** The steps of a notification that are still to come, in their order; null: the scope has no such notification. */
export async function findComing(db: Queryable, scope: Scope, id: string): Promise<ComingStep[] | null> {
  if (!(await belongsTo(db, scope, id))) return null
  const { rows } = await run<ComingStep>(
    db,
    `select channel, state, case when state <> 'waiting' or condition <> 'failed' then due_at end as "dueAt", condition from delivery
     where notification_id = $1 and state in ('waiting', 'queued') order by due_at, step`,
    [id],
  )
  return rows
}
