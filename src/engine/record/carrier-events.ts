import { setTimeout as sleep } from 'node:timers/promises'
import type { EventContext } from '../../channels/channel-runtime.js'
import type { CarrierEvent, CarrierFile, CarrierReport } from '../../channels/provider.js'
import { moduleOf } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import { type CarrierSource, findAttempt } from '../../domain/delivery/carrier-source.js'
import type { ChangeOutcome, Recorder } from '../../domain/delivery/change.js'
import type { FactType } from '../../domain/delivery/transition.js'
import { StoreUnavailable } from '../../domain/errors.js'
import { storableValue } from '../../domain/text/text.js'
import { keepEarlyReport } from '../../store/carrier/early-reports.js'
import { type CarrierReference, findAttempts, findReference, findUnknownTo } from '../../store/carrier/references.js'
import { isConflict, type Pool } from '../../store/postgres.js'
import { engineTiming } from '../timing.js'
import { retryWhileUnavailable } from './recorder.js'
import { takeReply } from './replies.js'
import { onlyTagged, readOwnReference, toChange } from './reports.js'

export interface CarrierEventParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  /** Called with events that are about no message of this installation. */
  onUnmatched(source: CarrierSource, kind: CarrierEvent['kind']): void
  /** Called with events about a message that was never given to the carriers that report them. Nothing of them is recorded. */
  onForeign(source: CarrierSource, kind: CarrierEvent['kind']): void
}

/** foreign: the message was never given to this source. unmatched: it is no message of this installation, or not known yet. */
export type EventOutcome = 'taken' | 'foreign' | 'unmatched'

/**
 * Turns reports, replies and files of carriers into facts about the deliveries that they are about. Resolves once everything is
 * committed: only then may the carrier forget the events. false: some of them were about messages of other carriers, channels or modes,
 * and did not count.
 */
export async function takeCarrierEvents(
  source: CarrierSource,
  events: readonly CarrierEvent[],
  parts: CarrierEventParts,
): Promise<boolean> {
  const outcomes = await Promise.all(
    events.map(event => takeRepeated(event, () => takeEvent(source, storableValue(event), parts))),
  )
  for (const [place, outcome] of outcomes.entries()) {
    if (outcome === 'foreign') parts.onForeign(source, events[place]!.kind)
    if (outcome === 'unmatched') parts.onUnmatched(source, events[place]!.kind)
  }
  return !outcomes.includes('foreign')
}

/** No carrier has the bytes that come with an event: they are taken again while the database is unavailable. A carrier repeats the others. */
function takeRepeated<T>(event: CarrierEvent, take: () => Promise<T>): Promise<T> {
  const takeOnce = (): Promise<T> => withoutConflict(take)
  const isOnlyCopy = event.kind === 'file' && event.bytes !== undefined
  return isOnlyCopy ? retryWhileUnavailable(takeOnce, engineTiming, () => true) : takeOnce()
}

const MAX_TRIES = 4

/**
 * Two nodes that take the same event at once may collide in any table, and many carriers repeat a refused callback only once. So
 * the event is taken again at once; a collision that stays is reported as an unavailable database, so that the carrier repeats the callback.
 */
async function withoutConflict<T>(take: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await take()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (tries === MAX_TRIES) throw new StoreUnavailable(error, { reachable: true })
      await sleep(tries * 50 * Math.random())
    }
  }
}

export const eventContext = (parts: CarrierEventParts): EventContext => ({
  pool: parts.pool,
  clock: parts.clock,
  record: change => parts.recorder.record(change),
  takeEvents: async (source, events) => void (await takeCarrierEvents(source, events, parts)),
})

function takeEvent(source: CarrierSource, event: CarrierEvent, parts: CarrierEventParts): Promise<EventOutcome> {
  if (event.kind === 'report') return takeReport(source, event, parts)
  return event.kind === 'reply' ? takeReply(source, event, parts) : takeFile(source, event, parts)
}

async function takeFile(source: CarrierSource, file: CarrierFile, parts: CarrierEventParts): Promise<EventOutcome> {
  const message = readOwnReference(file.of.ours)
  const delivery = message === null ? null : await findAttempts(parts.pool, message.notification, message.channel)
  if (message === null || delivery === null) return 'unmatched'
  const carrier = findAttempt(source, delivery, message.ordinal)
  if (carrier === null) return 'foreign'
  const { takeFile: take } = moduleOf(message.channel)
  if (take === undefined) return 'unmatched'
  await take({ ...message, carrier }, file, eventContext(parts))
  return 'taken'
}

async function takeReport(source: CarrierSource, report: CarrierReport, parts: CarrierEventParts): Promise<EventOutcome> {
  const reference = await findReported(source, report, parts.pool)
  if (reference !== null) {
    const outcome = await parts.recorder.record(toChange(reference, report, source, parts.clock))
    // The answer that gives this copy its name may not be recorded yet: the report counts once it is.
    if (isNoteOfCopy(reference, report, outcome)) await keepEarlyReport(parts.pool, source, report.of.carrier!, report)
    return outcome === 'foreign' ? 'foreign' : outcome === 'unknown' ? 'unmatched' : 'taken'
  }
  if (report.of.carrier === undefined) return 'unmatched'
  // The report may have come before the transaction that stores its reference commits.
  await keepEarlyReport(parts.pool, source, report.of.carrier, report)
  return 'taken'
}

const isNoteOfCopy = ({ tagged }: CarrierReference, { of }: CarrierReport, outcome: ChangeOutcome): boolean =>
  tagged === true && 'ours' in of && (outcome === 'noted' || outcome === 'last note')

const FAILURES: readonly FactType[] = ['failed', 'again']

async function findReported(source: CarrierSource, { of, type }: CarrierReport, pool: Pool): Promise<CarrierReference | null> {
  if ('ours' in of) {
    const own = readOwnReference(of.ours, of.part)
    // Every copy of a message bears our reference. Only the carrier's name says which copy failed.
    if (own === null || of.carrier === undefined || !FAILURES.includes(type)) return own
    return (await findReference(pool, source.carriers, of.carrier)) === null ? { ...own, tagged: true } : own
  }
  const known = await findReference(pool, source.carriers, of.carrier)
  if (known !== null || of.tag === undefined) return known
  return onlyTagged(of.tag.bits, await findUnknownTo(pool, source, of.tag.recipient))
}
