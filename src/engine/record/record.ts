import { channelModules, channels } from '../../channels/registry.js'
import type { Change, ChangeOutcome } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import type { Scope } from '../../domain/scope.js'
import type { Wake } from '../../runtime/wake.js'
import { suppress } from '../../store/accounts/suppressions.js'
import { wakeNamed, wakeTagged } from '../../store/carrier/early-reports.js'
import { lockDueSteps } from '../../store/delivery/claims.js'
import { belongsTo } from '../../store/delivery/deliveries.js'
import { lockNotifications, readLocked, writeRecords } from '../../store/delivery/records.js'
import { groupTransaction, type Pool, type Queryable } from '../../store/postgres.js'
import { Batch } from './batch.js'
import { type Busy, repeatWhileBusy } from './busy.js'
import { KeptNotes } from './kept-notes.js'

/** Due steps that are decided in one transaction. */
const BATCH = 500

interface RecordResult {
  /** busy: another transaction holds the notification, or one of its deliveries; nothing of it was recorded. */
  outcomes: (ChangeOutcome | Busy)[]
  /** Whether some delivery became due. */
  released: boolean
  /** Whether some webhook has a message to send. */
  announced: boolean
  events: number
}

/**
 * The only place where facts become true: event, status, decisions about the other channels and the webhooks' outbox are written
 * in one transaction, for many notifications at a time. What another transaction holds is left out and not waited for.
 */
export function tryChanges(pool: Pool, clock: Clock, changes: readonly Change[]): Promise<RecordResult> {
  return groupTransaction(pool, async db => {
    const { free, busy } = await lockNotifications(db, [...new Set(changes.map(change => change.notification))].sort())
    return applyChanges(db, clock, changes, free, busy)
  })
}

/** Records every change, in as many transactions as it takes where others hold some of the notifications. */
export async function recordChanges(
  pool: Pool,
  clock: Clock,
  changes: readonly Change[],
): Promise<{ outcomes: ChangeOutcome[] }> {
  const outcomes: (ChangeOutcome | Busy)[] = changes.map(() => 'busy')
  const recordRest = async (): Promise<ChangeOutcome[] | Busy> => {
    const places = [...outcomes.keys()].filter(place => outcomes[place] === 'busy')
    const tried = await tryChanges(
      pool,
      clock,
      places.map(place => changes[place]!),
    )
    for (const [index, place] of places.entries()) outcomes[place] = tried.outcomes[index]!
    return outcomes.includes('busy') ? 'busy' : (outcomes as ChangeOutcome[])
  }
  return { outcomes: await repeatWhileBusy(recordRest) }
}

/** Decides on all steps whose wait is over although nothing new happened to them, in batches that several nodes share. */
export async function promoteDueSteps(
  pool: Pool,
  clock: Clock,
  wake: Pick<Wake, 'notify'>,
  signal: AbortSignal,
  limit = BATCH,
): Promise<void> {
  for (let more = true; more && !signal.aborted; ) {
    const { steps, released, events } = await groupTransaction(pool, async db => {
      const due = await lockDueSteps(db, limit)
      return { steps: due.length, ...(await applyChanges(db, clock, [], new Set(due))) }
    })
    if (released) wake.notify()
    // By a clock behind the database's the steps are not due yet: to ask again at once would find the same ones.
    more = steps === limit && events > 0
  }
}

/**
 * Ends a notification's sequence: steps that still wait are cancelled, and deliveries that wait for nothing are sent anyway.
 * false: the scope has no such notification. A second call changes nothing.
 */
export async function finalize(pool: Pool, clock: Clock, scope: Scope, notification: string): Promise<boolean> {
  if (!(await belongsTo(pool, scope, notification))) return false
  const data = { cancelReason: 'finalized', reason: 'Finalizado a pedido do remetente.' } as const
  const cancelled = { type: 'cancelled', at: new Date(clock()), source: 'api', data } as const
  await recordChanges(
    pool,
    clock,
    channels.map(channel => ({ kind: 'fact', notification, fact: { channel, ...cancelled } })),
  )
  return true
}

async function applyChanges(
  db: Queryable,
  clock: Clock,
  changes: readonly Change[],
  locked: ReadonlySet<string>,
  held: ReadonlySet<string> = new Set(),
): Promise<RecordResult> {
  // Read only after the lock is held: another transaction may have changed the rows before.
  const { deliveries, heads, busy } = await readLocked(db, [...locked])
  const batch = new Batch(deliveries, heads, await KeptNotes.read(db, changes), new Date(clock()))
  const isBusy = ({ notification }: Change): boolean => held.has(notification) || busy.has(notification)
  const outcomes = changes.map(change => (isBusy(change) ? 'busy' : batch.apply(change)))
  for (const id of locked) batch.decideSteps(id)
  const events = batch.events.length
  const hasChanges = events > 0 || batch.references.length > 0
  const messages = hasChanges ? await writeRecords(db, batch.events, batch.writes(), batch.references) : 0
  for (const delivery of batch.suppressed) await suppress(db, { ...delivery, reason: 'hard bounce' })
  await wakeEarlyReports(db, batch)
  for (const { channel, onReferences } of channelModules) {
    const references = onReferences === undefined ? [] : batch.references.filter(reference => reference.channel === channel)
    if (references.length > 0) await onReferences!(db, references)
  }
  return { outcomes, released: batch.released, announced: messages > 0, events }
}

/** A report may have come before the reference, or the unknown outcome, that it is about. */
async function wakeEarlyReports(db: Queryable, { references, newlyUnknown }: Batch): Promise<void> {
  const carriers = [...new Set(references.map(({ carrier }) => carrier))]
  const names = references.map(({ reference }) => reference)
  if (names.length > 0) await wakeNamed(db, carriers, names)
  if (newlyUnknown.size > 0) await wakeTagged(db, [...newlyUnknown])
}
