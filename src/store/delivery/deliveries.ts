import type { Channel } from '../../domain/channel.js'
import { FALLBACK_STEP, type StepCondition } from '../../domain/sequence.js'
import type { Answer, DeliveryState, DeliveryStatus, Failure, TakenParts } from '../../domain/status.js'
import { changesRow, type Queryable, queryRow, run } from '../postgres.js'

export interface StatusQuestion {
  account: string
  notification: string
  channel: Channel
}

export interface FoundStatus extends DeliveryStatus {
  notification: string
  customId: string | null
}

export interface StatusRow {
  notification_id: string
  channel: Channel
  state: DeliveryState
  step: number
  accepted_at: Date
  processed_at: Date | null
  prepared_at: Date | null
  sent_at: Date | null
  delivered_at: Date | null
  read_at: Date | null
  confirmed_at: Date | null
  link_opened_at: Date | null
  answered_at: Date | null
  failed_at: Date | null
  cancelled_at: Date | null
  cancel_reason: 'not needed' | 'finalized' | null
  failure: Failure | null
  failure_detail: string | null
  answers: Answer[] | null
  tracking_code: string | null
  ordinal: number
  unknown_count: number
  parts: number[] | null
  taken: TakenParts | null
  custom_id: string | null
}

export const STATUS_COLUMNS = `d.notification_id, d.channel, d.state, d.step, d.processed_at, d.prepared_at, d.sent_at, d.delivered_at, d.read_at, d.confirmed_at,
  d.link_opened_at, d.answered_at, d.failed_at, d.cancelled_at, d.cancel_reason, d.failure, d.failure_detail, d.answers, d.tracking_code,
  d.ordinal, d.unknown_count, d.parts, d.taken,
  n.accepted_at, n.custom_id`

export const toStatus = (row: StatusRow): FoundStatus => ({
  notification: row.notification_id,
  customId: row.custom_id,
  channel: row.channel,
  state: row.state,
  isFallback: row.step === FALLBACK_STEP,
  acceptedAt: row.accepted_at,
  processedAt: row.processed_at,
  preparedAt: row.prepared_at,
  sentAt: row.sent_at,
  deliveredAt: row.delivered_at,
  readAt: row.read_at,
  confirmedAt: row.confirmed_at,
  linkOpenedAt: row.link_opened_at,
  answeredAt: row.answered_at,
  failedAt: row.failed_at,
  cancelledAt: row.cancelled_at,
  cancelReason: row.cancel_reason,
  failure: row.failure,
  failureDetail: row.failure_detail,
  answers: row.answers ?? [],
  trackingCode: row.tracking_code,
  ordinal: row.ordinal,
  unknownCount: row.unknown_count,
  parts: row.parts ?? [],
  taken: row.taken,
})

/** Answers many lookups with one query, each for its own account; null where there is no such delivery. */
export async function findStatuses(db: Queryable, questions: readonly StatusQuestion[]): Promise<(FoundStatus | null)[]> {
  const { rows } = await run<StatusRow & { place: number }>(db, {
    name: 'find-statuses',
    text: `select q.place, ${STATUS_COLUMNS}
           from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality as q(notification_id, channel, account_id, place)
           join delivery d on d.notification_id = q.notification_id and d.channel = q.channel and d.account_id = q.account_id
           join notification n on n.id = q.notification_id`,
    values: [
      questions.map(question => question.notification),
      questions.map(question => question.channel),
      questions.map(question => question.account),
    ],
  })
  const found: (FoundStatus | null)[] = questions.map(() => null)
  for (const row of rows) found[row.place - 1] = toStatus(row)
  return found
}

export interface NotificationStatuses {
  code: number
  /** With the number of parts of each message, where it is known. */
  statuses: (FoundStatus & { segments: number | null })[]
}

/** All channels of one notification of this account. */
export async function findNotification(db: Queryable, account: string, id: string): Promise<NotificationStatuses | null> {
  const { rows } = await run<StatusRow & { code: number; segments: number | null }>(
    db,
    `select n.code, ${STATUS_COLUMNS},
       (select (e.data ->> 'segments')::int from event e
        where e.notification_id = n.id and e.type = 'sent' and e.data ->> 'channel' = d.channel order by e.seq desc limit 1) as segments
     from notification n join delivery d on d.notification_id = n.id
     where n.id = $1 and n.account_id = $2
     order by d.step, d.channel`,
    [id, account],
  )
  return rows[0] === undefined
    ? null
    : { code: rows[0].code, statuses: rows.map(row => ({ ...toStatus(row), segments: row.segments })) }
}

/** Whether and when a delivery was sent; null: there is no such delivery. */
export const findSendState = (
  db: Queryable,
  id: string,
  channel: Channel,
): Promise<{ sentAt: Date | null; state: DeliveryState } | null> =>
  queryRow(db, 'select sent_at as "sentAt", state from delivery where notification_id = $1 and channel = $2', [id, channel])

export const belongsTo = (db: Queryable, account: string, id: string): Promise<boolean> =>
  changesRow(db, 'select from notification where id = $1 and account_id = $2', [id, account])

export interface ComingStep {
  channel: Channel
  state: 'waiting' | 'queued'
  /** null: no date decides, but the failure of the steps before it. */
  dueAt: Date | null
  condition: StepCondition
}

/** The steps of a notification that are still to come, in their order; null: the account has no such notification. */
export async function findComing(db: Queryable, account: string, id: string): Promise<ComingStep[] | null> {
  if (!(await belongsTo(db, account, id))) return null
  const { rows } = await run<ComingStep>(
    db,
    `select channel, state, case when state <> 'waiting' or condition <> 'failed' then due_at end as "dueAt", condition from delivery
     where notification_id = $1 and state in ('waiting', 'queued') order by due_at, step`,
    [id],
  )
  return rows
}
