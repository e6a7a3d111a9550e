import type { Channel } from '../domain/notification.js'
import type { DeliveryState } from '../domain/status.js'
import { type FoundStatus, STATUS_COLUMNS, type StatusRow, toStatus } from './deliveries.js'
import { type Queryable, run } from './postgres.js'

/** What is not finished: how much of it, since when, and which. */
export interface QueueDepth {
  channel: Channel
  state: DeliveryState
  count: number
  /** Since the oldest was due; 0 for what is not due yet. */
  oldestSeconds: number
}

/** States that have an index of their own, so that counting them costs nothing beside millions of finished ones. */
export const unfinishedStates = ['waiting', 'queued', 'sending', 'uncertain', 'dead'] as const
export type UnfinishedState = (typeof unfinishedStates)[number]

const countOf = (state: UnfinishedState): string =>
  `select channel, '${state}' as state, count(*)::int as count,
     greatest(0, coalesce(extract(epoch from now() - min(due_at)), 0))::float8 as "oldestSeconds"
   from delivery where state = '${state}' group by channel`

export async function readQueue(db: Queryable): Promise<QueueDepth[]> {
  const { rows } = await run<QueueDepth>(db, unfinishedStates.map(countOf).join(' union all '))
  return rows
}

export interface QueueFilter {
  state: UnfinishedState
  channel: Channel | null
  account: string | null
  limit: number
}

export interface QueuedDelivery extends FoundStatus {
  account: string
  recipient: string | null
  provider: string | null
  reference: string | null
  attempt: number
  dueAt: Date
}

/** The oldest first. */
export async function listQueue(db: Queryable, { state, channel, account, limit }: QueueFilter): Promise<QueuedDelivery[]> {
  const { rows } = await run<
    StatusRow & { account: string; recipient: string; provider: string; reference: string; attempt: number; due_at: Date }
  >(
    db,
    `select ${STATUS_COLUMNS}, a.name as account, d.recipient, d.provider, d.reference, d.attempt, d.due_at
     from delivery d join notification n on n.id = d.notification_id join account a on a.id = d.account_id
     where d.state = '${state}' and ($1::text is null or d.channel = $1) and ($2::uuid is null or d.account_id = $2)
     order by d.notification_id limit $3`,
    [channel, account, limit],
  )
  return rows.map(row => ({
    ...toStatus(row),
    account: row.account,
    recipient: row.recipient,
    provider: row.provider,
    reference: row.reference,
    attempt: row.attempt,
    dueAt: row.due_at,
  }))
}
