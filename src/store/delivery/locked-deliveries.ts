import type { DeliveryStatus } from '../../domain/delivery/status.js'
import type { Scope } from '../../domain/scope.js'
import type { StepCondition } from '../../domain/send/sequence.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { findWritten } from '../notification/notifications.js'
import { type Queryable, queryValues, run } from '../postgres.js'
import { type FoundStatus, STATUS_COLUMNS } from './deliveries.js'

export interface StoredDelivery extends Scope {
  notification: string
  step: number
  condition: StepCondition
  dueAt: Date
  /** Nothing of the notification is sent before; null: at once. */
  sendAt: Date | null
  /** What one message has bound of the account's cap; null: the account has none. */
  boundCost: number | null
  attempt: number
  leaseOwner: string | null
  /** Every message with every carrier that it was claimed for (domain/delivery/carrier-source.ts). */
  attempted: readonly string[]
  status: DeliveryStatus
}

export interface ChainHead {
  seq: number
  at: Date
  hash: string
}

/** A notification that is neither free nor busy does not exist. */
interface Locked {
  free: Set<string>
  /** Another transaction holds them. */
  busy: Set<string>
}

/**
 * Locks the notifications that no other transaction holds, in the order of their ids. It never waits: one notification that a
 * frozen node holds must not delay the facts about all others.
 */
export async function lockNotifications(db: Queryable, ids: readonly string[]): Promise<Locked> {
  const months = recentMonthsOfIds(ids)
  const free = new Set(
    await queryValues<string>(db, {
      name: nameWithin(months, 'lock-notifications'),
      text: `select id from notification where id = any($1::uuid[]) and ${withinMonths(months, 'id')}
             order by id for no key update skip locked`,
      values: [ids],
    }),
  )
  const others = ids.filter(id => !free.has(id))
  return { free, busy: others.length === 0 ? new Set() : await findWritten(db, others) }
}

interface LockedRow extends Omit<StoredDelivery, 'status'>, FoundStatus {
  siblings: number
  headSeq: number
  headAt: Date
  headHash: string
}

interface LockedDeliveries {
  deliveries: StoredDelivery[]
  heads: Map<string, ChainHead>
  /** Notifications of which another transaction holds some delivery. Nothing of them is returned. */
  busy: Set<string>
}

/**
 * Locks and reads every delivery of the locked notifications, and the last event of each chain. Locked, because a claim or a return
 * locks the delivery alone: between an unlocked read and the write of the status it would be overwritten. A notification that was erased is
 * not found: nothing more is recorded of it.
 */
export async function readLocked(db: Queryable, ids: readonly string[]): Promise<LockedDeliveries> {
  const months = recentMonthsOfIds(ids)
  const { rows } = await run<LockedRow>(db, {
    name: nameWithin(months, 'read-locked'),
    text: `select ${STATUS_COLUMNS}, d.account_id as account, d.mode, d.step, d.condition, d.due_at as "dueAt", n.send_at as "sendAt", d.bound_cost::float8 as "boundCost", d.attempt, d.lease_owner as "leaseOwner",
             coalesce(d.attempted, '{}') as attempted, (select count(*) from delivery s where s.notification_id = n.id and ${withinMonths(months, 's.notification_id')}) as siblings,
             e.seq as "headSeq", e.at as "headAt", encode(e.hash, 'hex') as "headHash"
           -- A look-up for each id: joined, without statistics of the month, the rows of all of them would be compared one by one.
           from unnest($1::uuid[]) as asked(id)
           cross join lateral (select * from notification where id = asked.id and ${withinMonths(months, 'id')} and erased_at is null limit 1) n
           cross join lateral (select * from delivery where notification_id = asked.id and ${withinMonths(months, 'notification_id')}
             for no key update skip locked) d
           cross join lateral (select seq, at, hash from event where notification_id = asked.id and ${withinMonths(months, 'notification_id')}
             order by seq desc limit 1) e
           order by n.id, d.channel`,
    values: [ids],
  })
  const seen = new Map<string, number>()
  for (const { notification } of rows) seen.set(notification, (seen.get(notification) ?? 0) + 1)
  const busy = await findHeld(db, ids, seen)
  const heads = new Map<string, ChainHead>()
  const deliveries: StoredDelivery[] = []
  for (const row of rows) {
    const {
      notification,
      account,
      mode,
      step,
      condition,
      dueAt,
      sendAt,
      boundCost,
      attempt,
      leaseOwner,
      attempted,
      siblings,
      headSeq,
      headAt,
      headHash,
      ...status
    } = row
    if (siblings !== seen.get(notification)) busy.add(notification)
    if (busy.has(notification)) continue
    heads.set(notification, { seq: headSeq, at: headAt, hash: headHash })
    deliveries.push({
      notification,
      account,
      mode,
      step,
      condition,
      dueAt,
      sendAt,
      boundCost,
      attempt,
      leaseOwner,
      attempted,
      status,
    })
  }
  return { deliveries: deliveries.sort((a, b) => a.step - b.step), heads, busy }
}

/** The notifications of which other transactions hold every delivery. */
async function findHeld(db: Queryable, ids: readonly string[], seen: ReadonlyMap<string, number>): Promise<Set<string>> {
  const unseen = ids.filter(id => !seen.has(id))
  if (unseen.length === 0) return new Set()
  const months = recentMonthsOfIds(unseen)
  return new Set(
    await queryValues<string>(db, {
      name: nameWithin(months, 'find-held'),
      text: `select asked.id from unnest($1::uuid[]) as asked(id)
             cross join lateral (select from notification where id = asked.id and ${withinMonths(months, 'id')} and erased_at is null limit 1) n
             cross join lateral (select from delivery where notification_id = asked.id and ${withinMonths(months, 'notification_id')} limit 1) d`,
      values: [unseen],
    }),
  )
}
