import { setTimeout as sleep } from 'node:timers/promises'
import type { CarrierEventSource, EventContext } from '../../channels/channel.js'
import type { CarrierEvent, CarrierFile, CarrierReport } from '../../channels/provider.js'
import { moduleOf } from '../../channels/registry.js'
import type { Recorder } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import { StoreUnavailable } from '../../domain/errors.js'
import { storableValue } from '../../domain/text.js'
import { keepEarlyReport } from '../../store/carrier/early-reports.js'
import { type CarrierReference, findReference, findUnknownTo } from '../../store/carrier/references.js'
import { isConflict, type Pool } from '../../store/postgres.js'
import { takeReply } from './replies.js'
import { onlyTagged, readOwnReference, referencesIn, toChange } from './reports.js'

/** Turns what carriers tell later into facts about the delivery that it is about. */
export interface CarrierEventParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  /** Told of events that are about no message of ours. */
  onUnmatched(provider: string, kind: CarrierEvent['kind']): void
}

/** Resolves once everything is committed: only then may the carrier forget the events. */
export async function takeCarrierEvents(
  source: CarrierEventSource,
  events: readonly CarrierEvent[],
  parts: CarrierEventParts,
): Promise<void> {
  await Promise.all(events.map(event => withoutConflict(() => takeEvent(source, storableValue(event), parts))))
}

const MAX_TRIES = 4

/**
 * Two nodes that take the same event at once may collide in any table, and many carriers repeat a refused callback only once. So
 * the event is taken again at once; a collision that stays is the database's trouble, and never an error of the request.
 */
async function withoutConflict(take: () => Promise<void>): Promise<void> {
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
  takeEvents: (source, events) => takeCarrierEvents(source, events, parts),
})

function takeEvent(source: CarrierEventSource, event: CarrierEvent, parts: CarrierEventParts): Promise<void> {
  if (event.kind === 'report') return takeReport(source, event, parts)
  return event.kind === 'reply' ? takeReply(source, event, parts) : takeFile(source, event, parts)
}

async function takeFile({ provider }: CarrierEventSource, file: CarrierFile, parts: CarrierEventParts): Promise<void> {
  const message = readOwnReference(file.of.ours)
  const module = message === null ? undefined : moduleOf(message.channel)
  if (message === null || module?.takeFile === undefined) return parts.onUnmatched(provider, file.kind)
  await module.takeFile({ ...message, provider }, file, eventContext(parts))
}

async function takeReport(source: CarrierEventSource, report: CarrierReport, parts: CarrierEventParts): Promise<void> {
  const { provider, carrier } = source
  const reference = await findReported(source, report, parts.pool)
  if (reference !== null) {
    const names = 'ours' in report.of ? referencesIn(report.of.carrier ?? [], reference) : []
    const change = toChange(reference, report, carrier, parts.clock)
    await parts.recorder.record(names.length === 0 ? change : { ...change, references: { provider, names } })
  } else if (report.of.carrier !== undefined) {
    // The report may have come before the transaction that stores its reference commits.
    await keepEarlyReport(parts.pool, provider, report.of.carrier, { ...report, carrier })
  } else parts.onUnmatched(provider, report.kind)
}

async function findReported(
  { provider, carrier, channel }: CarrierEventSource,
  { of }: CarrierReport,
  pool: Pool,
): Promise<CarrierReference | null> {
  if ('ours' in of) return readOwnReference(of.ours, of.part)
  const known = await findReference(pool, provider, of.carrier)
  if (known !== null || of.tag === undefined) return known
  return onlyTagged(of.tag.bits, await findUnknownTo(pool, channel, carrier, of.tag.recipient))
}
