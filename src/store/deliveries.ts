import type { Channel } from '../domain/notification.js'
import type { DeliveryState, DeliveryStatus, Failure } from '../domain/status.js'
import { type Queryable, run } from './postgres.js'

export interface StatusQuestion {
  account: string
  notification: string
  channel: Channel
}

export interface FoundStatus extends DeliveryStatus {
  notification: string
  customId: string | null
}

interface StatusRow {
  place: number
  notification_id: string
  channel: Channel
  state: DeliveryState
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
  answers: string[] | null
  tracking_code: string | null
  custom_id: string | null
}

const COLUMNS = `d.notification_id, d.channel, d.state, d.processed_at, d.prepared_at, d.sent_at, d.delivered_at, d.read_at, d.confirmed_at,
  d.link_opened_at, d.answered_at, d.failed_at, d.cancelled_at, d.cancel_reason, d.failure, d.failure_detail, d.answers, d.tracking_code,
  n.accepted_at, n.custom_id`

const toStatus = (row: StatusRow): FoundStatus => ({
  notification: row.notification_id,
  customId: row.custom_id,
  channel: row.channel,
  state: row.state,
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
})

/** Answers many lookups with one query, each for its own account; null where there is no such delivery. */
export async function findStatuses(db: Queryable, questions: readonly StatusQuestion[]): Promise<(FoundStatus | null)[]> {
  const { rows } = await run<StatusRow>(db, {
    name: 'find-statuses',
    text: `select q.place, ${COLUMNS}
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
  statuses: FoundStatus[]
}

/** All channels of one notification of this account. */
export async function findNotification(db: Queryable, account: string, id: string): Promise<NotificationStatuses | null> {
  const { rows } = await run<StatusRow & { code: number }>(
    db,
    `select n.code, ${COLUMNS}
     from notification n join delivery d on d.notification_id = n.id
     where n.id = $1 and n.account_id = $2
     order by d.step, d.channel`,
    [id, account],
  )
  return rows[0] === undefined ? null : { code: rows[0].code, statuses: rows.map(toStatus) }
}

/** Locks the notification, so that its events and statuses change one at a time. False when the account has no such one. */
export async function lockNotification(db: Queryable, account: string, id: string): Promise<boolean> {
  const { rowCount } = await run(db, 'select from notification where id = $1 and account_id = $2 for no key update', [
    id,
    account,
  ])
  return rowCount === 1
}

/** Ends the deliveries that still wait for their condition or their turn; returns their channels. */
export async function cancelWaiting(db: Queryable, id: string, at: Date, reason: 'not needed' | 'finalized'): Promise<Channel[]> {
  const { rows } = await run<{ channel: Channel }>(
    db,
    `update delivery set state = 'cancelled', cancelled_at = $2, cancel_reason = $3
     where notification_id = $1 and state = 'waiting' returning channel`,
    [id, at, reason],
  )
  return rows.map(row => row.channel).sort()
}
