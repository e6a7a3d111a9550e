import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { lowestId } from '../../domain/id.js'
import { DAY_MS } from '../../domain/units.js'
import { filterBy, type Queryable, queryRows, run } from '../postgres.js'
import { type FoundStatus, STATUS_COLUMNS } from './deliveries.js'

/** States that have an index of their own, so that counting them costs nothing beside millions of finished ones. */
export const unfinishedStates = ['waiting', 'queued', 'sending', 'uncertain', 'unresolved', 'dead'] as const
export type UnfinishedState = (typeof unfinishedStates)[number]

export interface QueueFilter {
  state: UnfinishedState
  channel: Channel | null
  /** null: both. */
  mode: Mode | null
  account: string | null
  limit: number
}

export interface QueuedDelivery extends FoundStatus {
  account: string
  mode: Mode
  recipient: string | null
  carrier: string | null
  reference: string | null
  attempt: number
  dueAt: Date
}

/** The deliveries in a state. Waiting steps have two indexes, and one select for both would read the whole table. */
const deliveriesIn = (state: UnfinishedState): string =>
  state === 'waiting'
    ? `(${["<> 'failed'", "= 'failed'"].map(of => `select * from delivery where state = 'waiting' and condition ${of}`).join(' union all ')})`
    : `(select * from delivery where state = '${state}')`

/** The oldest first. */
export const listQueue = (db: Queryable, { state, channel, mode, account, limit }: QueueFilter): Promise<QueuedDelivery[]> =>
  queryRows(
    db,
    `select ${STATUS_COLUMNS}, a.name as account, d.mode, d.recipient, d.carrier, d.reference, d.attempt, d.due_at as "dueAt"
     from ${deliveriesIn(state)} d join account a on a.id = d.account_id
     where ${filterBy('$1::text', channel, 'd.channel = $1')}
       and ${filterBy('$2::uuid', account, 'd.account_id = $2')} and ${filterBy('$3::text', mode, 'd.mode = $3')}
     order by d.notification_id limit $4`,
    [channel, account, mode, limit],
  )

export interface RefusedQuestion {
  channel: Channel
  /** One carrier, or a provider for all of its carriers. */
  carrier: string
  /** Refused since then, and accepted at most a month before. */
  since: Date
  /** A text that the reason must contain; null: any reason. */
  reason: string | null
  /** Where the last answer ended. */
  after: string | null
}

const PAGE = 20_000
const MAX_FOUND = 250
const MONTH_MS = 31 * DAY_MS

/** Deliveries that a carrier refused, or whose attempts with it are used up. Read in pages by key: finished deliveries have no index. */
export async function findRefused(
  db: Queryable,
  { channel, carrier, since, reason, after }: RefusedQuestion,
): Promise<{ ids: string[]; last: string | null }> {
  const { rows } = await run<{ id: string; refused: boolean }>(
    db,
    `with page as (
       select notification_id as id, (carrier = $3 or split_part(carrier, ':', 1) = $3) and failed_at >= $4
         and (state = 'dead' or (state = 'done' and failure = 'rejected' and sent_at is null and processed_at is null)) and ($5::text is null or position($5 in failure_detail) > 0) as refused
       from delivery where notification_id > $1 and channel = $2 order by notification_id limit $6
     ), found as (
       select id from page where refused order by id limit $7
     )
     select id, true as refused from found
     union all
     (select id, false from page order by id desc limit 1)`,
    [after ?? lowestId(since.getTime() - MONTH_MS), channel, carrier, since, reason, PAGE, MAX_FOUND],
  )
  const ids = rows.filter(({ refused }) => refused).map(({ id }) => id)
  const end = rows.find(({ refused }) => !refused)?.id ?? null
  return { ids, last: ids.length === MAX_FOUND ? ids.at(-1)! : end }
}
