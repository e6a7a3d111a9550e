import type { Channel } from '../../domain/channel.js'
import { type IdMonths, nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { execute, matchesRow, type Queryable } from '../postgres.js'
import { attemptedBy } from './claims.js'

/** A claimed delivery and the claim that holds it. */
export interface HeldDelivery {
  notification: string
  channel: Channel
  attempt: number
  owner: string
}

/** The lane that sends the delivery from now on. */
export interface Taker {
  carrier: string
  owner: string
  leaseMs: number
}

const heldIn = (months: IdMonths | null): string =>
  `notification_id = $1 and channel = $2 and attempt = $3 and lease_owner = $4 and state = 'sending' and lease_until > now()
     and ${withinMonths(months, 'notification_id')}`

/** Gives the attempt to another lane before any carrier is called; false: the claim no longer held it. */
export const passDelivery = (
  db: Queryable,
  { notification, channel, attempt, owner }: HeldDelivery,
  to: Taker,
): Promise<boolean> => {
  const months = recentMonthsOfIds([notification])
  return matchesRow(db, {
    name: nameWithin(months, 'pass-delivery'),
    text: `update delivery set carrier = $5, attempted = ${attemptedBy('$5')}, lease_owner = $6, lease_until = now() + $7 * interval '1 millisecond'
           where ${heldIn(months)}`,
    values: [notification, channel, attempt, owner, to.carrier, to.owner, to.leaseMs],
  })
}

/**
 * Undoes the claim; only the time at which the delivery may be claimed again changes. It is marked as delayed, because that time does not
 * tell any more since when it waits. `planned`: it waits as it was meant to, and is not marked.
 */
export const putBackDelivery = (
  db: Queryable,
  { notification, channel, attempt, owner }: HeldDelivery,
  delayMs: number,
  planned = false,
): Promise<void> => {
  const months = recentMonthsOfIds([notification])
  return execute(db, {
    name: nameWithin(months, 'put-back-delivery'),
    // More than one carrier in this round: the claim was a failover, which does not count any more.
    text: `update delivery set state = 'queued', attempt = attempt - 1, failovers = failovers - (cardinality(tried) > 1)::int, tried = null,
             lease_owner = null, lease_until = null, due_at = now() + $5 * interval '1 millisecond', delayed = delayed or not $6::boolean
           where ${heldIn(months)}`,
    values: [notification, channel, attempt, owner, delayMs, planned],
  })
}

/**
 * Undoes claims whose answers from the database were lost. Their leases may be over: as long as nobody else has taken the
 * deliveries up, nothing was sent. What was due is due now, because claims begin at the front of the queue (QueueFront). A delivery that another transaction holds is
 * left to the next call.
 */
export const putBackClaims = (db: Queryable, owners: readonly string[]): Promise<void> =>
  execute(
    db,
    `with lost as (
       select notification_id, channel from delivery where state = 'sending' and lease_owner = any($1::uuid[])
       order by notification_id, channel for no key update skip locked
     )
     update delivery d set state = 'queued', attempt = d.attempt - 1, failovers = d.failovers - (cardinality(d.tried) > 1)::int,
       tried = case when cardinality(d.tried) > 1 then trim_array(d.tried, 1) end, lease_owner = null, lease_until = null, due_at = greatest(due_at, now()),
       delayed = true
     from lost l where d.notification_id = l.notification_id and d.channel = l.channel`,
    [owners],
  )
