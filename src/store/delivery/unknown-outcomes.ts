import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { type IdMonths, nameWithin, withinMonths } from '../months.js'
import { execute, type Queryable, queryRows } from '../postgres.js'
import { UNSURE } from './holds.js'

export interface UnknownOutcome {
  notification: string
  channel: Channel
  mode: Mode
  /** The carrier that may have the message. */
  carrier: string
  reference: string
  recipient: string | null
  attempt: number
  /** The ordinal of the message: a later message counts its attempts from the start. */
  ordinal: number
  failovers: number
  unknownCount: number
  /** Since the outcome of an attempt was last recorded as unknown. */
  unknownForMs: number
}

const columnsIn = (
  months: IdMonths | null,
): string => `d.notification_id as notification, d.channel, d.mode, d.carrier, d.reference, d.recipient, d.attempt, d.ordinal,
  d.failovers, d.unknown_count as "unknownCount",
  coalesce((select extract(epoch from now() - max(e.at)) * 1000 from event e
    where e.notification_id = d.notification_id and ${withinMonths(months, 'e.notification_id')}
      and e.type = 'uncertain' and e.data ->> 'channel' = d.channel), 0)::float8 as "unknownForMs"`

export interface UnknownQuestion {
  channel: Channel
  mode: Mode
  carrier: string
  limit: number
  /** How long no other worker takes the same outcomes. */
  holdMs: number
  /** Only notifications of these months are read (readOpenMonths); null: of all months. */
  months?: IdMonths | null
}

/** Takes the unknown outcomes of one carrier that are due to be looked at; none while the database may be an older copy. */
export const takeUnknown = (
  db: Queryable,
  { channel, mode, carrier, limit, holdMs, months = null }: UnknownQuestion,
): Promise<UnknownOutcome[]> =>
  queryRows(db, {
    name: nameWithin(months, 'take-unknown'),
    text: `with due as (
             select notification_id from delivery
             where state = 'uncertain' and channel = $1 and mode = $2 and carrier = $3 and due_at <= now() and not exists (${UNSURE})
               and ${withinMonths(months, 'notification_id')}
             order by due_at limit $4 for update skip locked
           )
           update delivery d set due_at = now() + $5 * interval '1 millisecond'
           where d.notification_id = any(array(select notification_id from due)) and d.channel = $1 and ${withinMonths(months, 'd.notification_id')}
           returning ${columnsIn(months)}`,
    values: [channel, mode, carrier, limit, holdMs],
  })

/** A carrier with its channel and mode as one text. */
const named = (column: string): string => `d.channel || ' ' || d.mode || ' ' || d.${column}`

/** Takes the unknown outcomes of carriers that are none of these ("channel mode carrier"). */
export const takeOrphaned = (
  db: Queryable,
  known: readonly string[],
  { limit, holdMs, months = null }: Pick<UnknownQuestion, 'limit' | 'holdMs' | 'months'>,
): Promise<UnknownOutcome[]> =>
  queryRows(db, {
    name: nameWithin(months, 'take-orphaned'),
    text: `with due as (
             select notification_id, channel from delivery d
             where state = 'uncertain' and due_at <= now() and ${named('carrier')} <> all($1::text[]) and not exists (${UNSURE})
               and ${withinMonths(months, 'd.notification_id')}
             order by due_at limit $2 for update skip locked
           )
           update delivery d set due_at = now() + $3 * interval '1 millisecond'
           from due where d.notification_id = due.notification_id and d.channel = due.channel and ${withinMonths(months, 'd.notification_id')}
           returning ${columnsIn(months)}`,
    values: [known, limit, holdMs],
  })

/** Queued deliveries that have been due for longer than `lateMs` and are bound to a carrier that is not in `known`. */
export const findStranded = (
  db: Queryable,
  known: readonly string[],
  lateMs: number,
  { limit, months = null }: Pick<UnknownQuestion, 'limit' | 'months'>,
): Promise<UnknownOutcome[]> =>
  queryRows(db, {
    name: nameWithin(months, 'find-stranded'),
    text: `select ${columnsIn(months)} from delivery d
           where state = 'queued' and bound_carrier is not null and due_at < now() - $2 * interval '1 millisecond'
             and ${named('bound_carrier')} <> all($1::text[]) and not exists (${UNSURE})
             and ${withinMonths(months, 'd.notification_id')}
           order by due_at limit $3`,
    values: [known, lateMs, limit],
  })

/** Looks again later, unless the outcome of this attempt became known meanwhile. */
export const putOffUnknown = (
  db: Queryable,
  { notification, channel, attempt, ordinal }: Pick<UnknownOutcome, 'notification' | 'channel' | 'attempt' | 'ordinal'>,
  delayMs: number,
): Promise<void> =>
  execute(
    db,
    `update delivery set due_at = now() + $3 * interval '1 millisecond'
     where notification_id = $1 and channel = $2 and state = 'uncertain' and attempt = $4 and ordinal = $5`,
    [notification, channel, delayMs, attempt, ordinal],
  )
