import { channelModules, channels } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import type { Change, ChangeOutcome } from '../../domain/delivery/change.js'
import type { Queue, QueueListener } from '../../domain/queue.js'
import type { Scope } from '../../domain/scope.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { suppress } from '../../store/accounts/suppressions.js'
import { noteLateData } from '../../store/ageing.js'
import { wakeNamed, wakeTagged } from '../../store/carrier/early-reports.js'
import { uncountContacts } from '../../store/delivery/contacts.js'
import { belongsTo } from '../../store/delivery/deliveries.js'
import { lockDueSteps } from '../../store/delivery/due-steps.js'
import { lockNotifications, readLocked } from '../../store/delivery/locked-deliveries.js'
import { writeRecords } from '../../store/delivery/records.js'
import { findStatingEvents } from '../../store/evidence/sent-content.js'
import type { IdMonths } from '../../store/months.js'
import { groupTransaction, isItemFault, type Pool, type Queryable } from '../../store/postgres.js'
import { type Busy, repeatWhileBusy } from './busy.js'
import { attemptKey, ChangeGroup } from './change-group.js'
import { KeptNotes } from './kept-notes.js'

/** Due steps that are decided in one transaction. */
const BATCH = 500

interface RecordResult {
  /** busy: another transaction holds the notification, or one of its deliveries; nothing of it was recorded. */
  outcomes: (ChangeOutcome | Busy)[]
  /** The queues in which deliveries became due. */
  released: ReadonlySet<Queue>
  /** Whether some webhook has a message to send. */
  announced: boolean
  events: number
}

/** Written in the transaction of a change that is recorded: an act and its entry in the log of actions are one. */
export type Alongside = (db: Queryable) => Promise<void>

/**
 * The only place where facts become true: event, status, decisions about the other channels and the webhooks' outbox are written
 * in one transaction, for many notifications at a time. What another transaction holds is left out and not waited for.
 */
export function tryChanges(pool: Pool, clock: Clock, changes: readonly Change[], alongside?: Alongside): Promise<RecordResult> {
  return groupTransaction(pool, async db => {
    const { free, busy } = await lockNotifications(db, [...new Set(changes.map(change => change.notification))].sort())
    const result = await applyChanges(db, clock, changes, free, busy)
    if (result.outcomes.includes('recorded')) await alongside?.(db)
    return result
  })
}

/** Records every change, in as many transactions as it takes where others hold some of the notifications. */
export async function recordChanges(
  pool: Pool,
  clock: Clock,
  changes: readonly Change[],
  alongside?: Alongside,
): Promise<{ outcomes: ChangeOutcome[] }> {
  const outcomes: (ChangeOutcome | Busy)[] = changes.map(() => 'busy')
  const recordRest = async (): Promise<ChangeOutcome[] | Busy> => {
    const places = [...outcomes.keys()].filter(place => outcomes[place] === 'busy')
    const tried = await tryChanges(
      pool,
      clock,
      places.map(place => changes[place]!),
      alongside,
    )
    for (const [index, place] of places.entries()) outcomes[place] = tried.outcomes[index]!
    return outcomes.includes('busy') ? 'busy' : (outcomes as ChangeOutcome[])
  }
  return { outcomes: await repeatWhileBusy(recordRest) }
}

/**
 * Decides on all steps whose waiting time has ended without a new event, in batches that several nodes share: single sends first,
 * accounts in turn.
 */
export async function promoteDueSteps(
  pool: Pool,
  clock: Clock,
  wake: QueueListener,
  signal: AbortSignal,
  { limit = BATCH, months = null }: { limit?: number; months?: IdMonths | null } = {},
): Promise<void> {
  let after: string | undefined
  for (let more = true; more && !signal.aborted; ) {
    let notifications: string[] = []
    try {
      const { next, released, events } = await groupTransaction(pool, async db => {
        const due = await lockDueSteps(db, { limit, after, months })
        notifications = due.notifications
        return { ...due, ...(await applyChanges(db, clock, [], new Set(notifications))) }
      })
      after = next
      if (released.size > 0) wake.notify(released)
      // By a clock behind the database's the steps are not due yet: to ask again at once would find the same ones.
      more = notifications.length === limit && events > 0
    } catch (error) {
      if (notifications.length <= 1 || !isItemFault(error)) throw error
      await promoteApart(pool, clock, wake, notifications.sort())
      more = false
    }
  }
}

/** Leaves the notification alone that cannot be decided on, and decides on the others; then its error is thrown. */
async function promoteApart(pool: Pool, clock: Clock, wake: QueueListener, ids: readonly string[]): Promise<void> {
  const groups = new GroupCommit<string, true>({
    write: async some => {
      const { released } = await groupTransaction(pool, async db =>
        applyChanges(db, clock, [], (await lockNotifications(db, some)).free),
      )
      if (released.size > 0) wake.notify(released)
      return some.map(() => true)
    },
    isItemFault,
    maxItems: ids.length,
    parallel: 1,
    maxWaiting: ids.length,
    overloaded: () => new Error('too many steps wait'),
  })
  const outcomes = await Promise.allSettled(ids.map(id => groups.submit(id)))
  const failed = outcomes.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/**
 * Ends a notification's sequence: steps that still wait are cancelled, and deliveries that wait for nothing are sent anyway.
 * false: the scope has no such notification. A second call changes nothing.
 */
export async function finalize(
  pool: Pool,
  clock: Clock,
  scope: Scope,
  notification: string,
  { source = 'api', reason = 'Finalizado a pedido do remetente.', alongside }: FinalizeOptions = {},
): Promise<boolean> {
  if (!(await belongsTo(pool, scope, notification))) return false
  const data = { cancelReason: 'finalized', reason } as const
  const cancelled = { type: 'cancelled', at: new Date(clock()), source, data } as const
  await recordChanges(
    pool,
    clock,
    channels.map(channel => ({ kind: 'fact', notification, fact: { channel, ...cancelled } })),
    alongside,
  )
  return true
}

interface FinalizeOptions {
  source?: 'api' | 'operator'
  reason?: string
  alongside?: Alongside
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
  const group = new ChangeGroup(deliveries, heads, await KeptNotes.read(db, changes), new Date(clock()))
  const isBusy = ({ notification }: Change): boolean => held.has(notification) || busy.has(notification)
  const outcomes = changes.map(change => (isBusy(change) ? 'busy' : group.apply(change)))
  if (group.unrecorded.length > 0) group.noteUnrecorded(await findKeptAttempts(db, group.unrecorded))
  for (const id of locked) group.decideSteps(id)
  const events = group.events.length
  const hasChanges = events > 0 || group.references.length > 0
  const messages = hasChanges
    ? await writeRecords(db, {
        events: group.events,
        deliveries: group.writes(),
        references: group.references,
        contents: group.contents,
        tallies: group.tallies(),
        usage: group.usage(),
        costs: group.costs(),
      })
    : 0
  const visited = group.events.flatMap(({ event }) => (event.source === 'recipient' ? [event.notification] : []))
  if (visited.length > 0) await noteLateData(db, 'visits', visited)
  for (const delivery of group.suppressed) await suppress(db, delivery)
  if (group.unreached.length > 0) await uncountContacts(db, group.unreached)
  await wakeEarlyReports(db, group)
  for (const { channel, onReferences } of channelModules) {
    const references = onReferences === undefined ? [] : group.references.filter(reference => reference.channel === channel)
    if (references.length > 0) await onReferences!(db, references)
  }
  return { outcomes, released: group.released, announced: messages > 0, events }
}

/** The attempts of these notifications whose content is stored. */
const findKeptAttempts = async (db: Queryable, notifications: readonly string[]): Promise<Set<string>> =>
  new Set((await findStatingEvents(db, notifications)).map(data => attemptKey({ data })))

/** A report may have come before the reference, or the unknown outcome, that it is about. */
async function wakeEarlyReports(db: Queryable, { references, newlyUnknown }: ChangeGroup): Promise<void> {
  const carriers = [...new Set(references.map(({ carrier }) => carrier))]
  const names = references.map(({ reference }) => reference)
  if (names.length > 0) await wakeNamed(db, carriers, names)
  if (newlyUnknown.size > 0) await wakeTagged(db, [...newlyUnknown])
}
