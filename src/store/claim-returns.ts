import type { Channel } from '../domain/channel.js'
import { type Queryable, run } from './postgres.js'

/** A claimed delivery, and who claimed it. */
export interface HeldDelivery {
  notification: string
  channel: Channel
  attempt: number
  owner: string
}

/** Who carries it from now on. */
export interface Taker {
  provider: string
  owner: string
  leaseMs: number
}

const HELD =
  "notification_id = $1 and channel = $2 and attempt = $3 and lease_owner = $4 and state = 'sending' and lease_until > now()"

/** The attempt becomes another lane's, before its carrier is called; false: it was no longer theirs who gave it. */
export async function passDelivery(
  db: Queryable,
  { notification, channel, attempt, owner }: HeldDelivery,
  to: Taker,
): Promise<boolean> {
  const { rowCount } = await run(
    db,
    `update delivery set provider = $5, lease_owner = $6, lease_until = now() + $7 * interval '1 millisecond' where ${HELD}`,
    [notification, channel, attempt, owner, to.provider, to.owner, to.leaseMs],
  )
  return rowCount === 1
}

/** As if nobody had claimed it, but for the time at which it is claimed again. */
export async function putBackDelivery(
  db: Queryable,
  { notification, channel, attempt, owner }: HeldDelivery,
  delayMs: number,
): Promise<void> {
  await run(
    db,
    // A second place in the list of this round: the claim was a detour, and is one no longer.
    `update delivery set state = 'queued', attempt = attempt - 1, detours = detours - (cardinality(tried) > 1)::int, tried = null,
       lease_owner = null, lease_until = null, due_at = now() + $5 * interval '1 millisecond' where ${HELD}`,
    [notification, channel, attempt, owner, delayMs],
  )
}

/**
 * The same of all that these claims took, whose answers were lost. Their leases may be over: as long as nobody else has done
 * anything about it, nothing of it has left. The due dates are still those from before the claims.
 */
export async function putBackClaims(db: Queryable, owners: readonly string[]): Promise<void> {
  await run(
    db,
    `update delivery set state = 'queued', attempt = attempt - 1, detours = detours - (cardinality(tried) > 1)::int,
       tried = case when cardinality(tried) > 1 then trim_array(tried, 1) end, lease_owner = null, lease_until = null
     where state = 'sending' and lease_owner = any($1::uuid[])`,
    [owners],
  )
}
