import type { Channel } from '../domain/notification.js'
import type { Mode } from '../domain/token.js'
import { type Queryable, run } from './postgres.js'

/** A send of which nobody knows whether it happened. */
export interface Uncertain {
  notification: string
  channel: Channel
  mode: Mode
  provider: string
  reference: string
  recipient: string | null
  attempt: number
  /** Of the message: a later one counts its attempts anew. */
  ordinal: number
  detours: number
  doubts: number
}

const COLUMNS =
  'd.notification_id as notification, d.channel, d.mode, d.provider, d.reference, d.recipient, d.attempt, d.ordinal, d.detours, d.doubts'

/** Of which carrier, and how many; nobody else looks at them for so long. */
export interface DoubtQuestion {
  channel: Channel
  mode: Mode
  providers: readonly string[]
  limit: number
  holdMs: number
}

/** Takes those of one carrier whose time to be looked at has come. */
export async function takeUncertain(
  db: Queryable,
  { channel, mode, providers, limit, holdMs }: DoubtQuestion,
): Promise<Uncertain[]> {
  const { rows } = await run<Uncertain>(
    db,
    `with due as (
       select notification_id from delivery
       where state = 'uncertain' and channel = $1 and mode = $2 and provider = any($3::text[]) and due_at <= now()
       order by due_at limit $4 for update skip locked
     )
     update delivery d set due_at = now() + $5 * interval '1 millisecond'
     where d.notification_id = any(array(select notification_id from due)) and d.channel = $1
     returning ${COLUMNS}`,
    [channel, mode, providers, limit, holdMs],
  )
  return rows
}

/** The names of carriers, each with its channel and mode, as one text. */
const NAMED = (provider: string): string => `d.channel || ' ' || d.mode || ' ' || d.${provider}`

/** Takes those of carriers that are none of these ("channel mode name"). */
export async function takeOrphaned(
  db: Queryable,
  known: readonly string[],
  { limit, holdMs }: Pick<DoubtQuestion, 'limit' | 'holdMs'>,
): Promise<Uncertain[]> {
  const { rows } = await run<Uncertain>(
    db,
    `with due as (
       select notification_id, channel from delivery d
       where state = 'uncertain' and due_at <= now() and ${NAMED('provider')} <> all($1::text[])
       order by due_at limit $2 for update skip locked
     )
     update delivery d set due_at = now() + $3 * interval '1 millisecond'
     from due where d.notification_id = due.notification_id and d.channel = due.channel
     returning ${COLUMNS}`,
    [known, limit, holdMs],
  )
  return rows
}

/** Queued ones that should have left so long ago and that only a carrier may take which is none of these. */
export async function findStranded(db: Queryable, known: readonly string[], lateMs: number, limit: number): Promise<Uncertain[]> {
  const { rows } = await run<Uncertain>(
    db,
    `select ${COLUMNS} from delivery d
     where state = 'queued' and bound_to is not null and due_at < now() - $2 * interval '1 millisecond' and ${NAMED('bound_to')} <> all($1::text[])
     order by due_at limit $3`,
    [known, lateMs, limit],
  )
  return rows
}

/** Only while the outcome of this attempt is unknown. */
export async function putOffUncertain(
  db: Queryable,
  { notification, channel, attempt, ordinal }: Pick<Uncertain, 'notification' | 'channel' | 'attempt' | 'ordinal'>,
  delayMs: number,
): Promise<void> {
  await run(
    db,
    `update delivery set due_at = now() + $3 * interval '1 millisecond'
     where notification_id = $1 and channel = $2 and state = 'uncertain' and attempt = $4 and ordinal = $5`,
    [notification, channel, delayMs, attempt, ordinal],
  )
}
