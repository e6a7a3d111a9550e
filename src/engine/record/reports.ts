import type { CarrierReport, ReferenceTag } from '../../channels/provider.js'
import { channels } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import type { CarrierSource } from '../../domain/delivery/carrier-source.js'
import type { CarrierReported } from '../../domain/delivery/change.js'
import { readReference } from '../../domain/delivery/reference.js'
import { readTag } from '../../domain/delivery/reference-tag.js'
import type { Fact } from '../../domain/delivery/transition.js'
import { StoreUnavailable } from '../../domain/errors.js'
import { deleteEarlyReport, findTagged, probeEarlyReports } from '../../store/carrier/early-reports.js'
import type { CarrierReference } from '../../store/carrier/references.js'
import { isTooSlow } from '../../store/postgres.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import type { CarrierEventParts } from './carrier-events.js'
import { CARRIER_NOTES } from './kept-notes.js'

/** Kept reports that one worker looks at in a round: reports about messages that others send under our account cost no more. */
const BATCH = 500

/** From a carrier's report to the change that it means. */
export function toChange(reference: CarrierReference, report: CarrierReport, by: CarrierSource, clock: Clock): CarrierReported {
  const { notification, channel, ordinal, part, parts, tagged } = reference
  const [carrier] = by.carriers as [string]
  const { type, at, answer, failure, reason, delayMs, trackingCode, facts, signed } = report
  const data: Fact['data'] = {
    ...facts,
    carrier,
    answer,
    ordinal,
    ...(parts > 1 ? { part, parts } : {}),
    ...(tagged === undefined ? {} : { tagged }),
    ...(failure === undefined ? {} : { failure, failureDetail: reason ?? answer }),
    ...(reason === undefined ? {} : { reason }),
    ...(trackingCode === undefined ? {} : { trackingCode }),
    ...(signed === undefined ? {} : { signed }),
  }
  return {
    kind: 'report',
    notification,
    by,
    fact: { channel, type, at: at ?? new Date(clock()), source: `report:${carrier}`, data },
    noteLimit: CARRIER_NOTES,
    names: 'ours' in report.of ? referencesIn(report.of.carrier ?? [], reference) : [],
    ...(delayMs === undefined ? {} : { delayMs }),
  }
}

/** Records the reports that came before the reference, or the unknown outcome, that they are about. */
export async function takeEarlyReports(
  { pool, clock, recorder, onForeign }: Omit<CarrierEventParts, 'onUnmatched'>,
  { probeMs }: Pick<EngineTiming, 'probeMs'> = engineTiming,
): Promise<void> {
  const early = (await probeEarlyReports(pool, BATCH, probeMs)).map(({ report: stored, ...rest }) => {
    const { at, ...report } = stored as unknown as Omit<CarrierReport, 'at'> & { at: string | null }
    return { ...rest, report: { ...report, at: at === null ? null : new Date(at) } }
  })
  const tagged = early.filter(({ reference, report }) => reference === null && tagOf(report) !== undefined)
  const ids = tagged.map(({ id }) => id)
  const unknown = ids.length === 0 ? new Map<string, string[]>() : await findTagged(pool, ids)
  const failures = new Map<string, unknown>()
  // One after the other: they are recorded in the order in which they came.
  for (const { id, reference, source, report } of early) {
    const known = reference ?? onlyTagged(tagOf(report)?.bits ?? -1, unknown.get(id) ?? [])
    // A later report of a message goes after an earlier one.
    if (known === null || failures.has(known.notification)) continue
    try {
      const outcome = await recorder.record(toChange(known, report, source, clock))
      if (outcome === 'foreign') onForeign(source, report.kind)
      await deleteEarlyReport(pool, id)
    } catch (error) {
      // A database that is away fails all of them. A report that cannot be recorded must not keep the others waiting.
      if (error instanceof StoreUnavailable && !isTooSlow(error)) throw error
      failures.set(known.notification, error)
    }
  }
  if (failures.size > 0) throw [...failures.values()][0]
}

const tagOf = ({ of }: CarrierReport): ReferenceTag | undefined => ('ours' in of ? undefined : of.tag)

/** The message that a reference of ours names; null: the reference is not ours, or its channel is unknown. */
export function readOwnReference(reference: string, part = { number: 1, total: 1 }): CarrierReference | null {
  const named = readReference(reference)
  if (named === null || !channels.includes(named.channel)) return null
  return { ...named, part: part.number, parts: part.total }
}

/** The one message with unknown outcome that this tag can name; null where there are several, or none. */
export function onlyTagged(bits: number, references: readonly string[]): CarrierReference | null {
  const tagged = references.flatMap(reference => {
    const own = readOwnReference(reference)
    const part = readTag(bits, reference)
    return own === null || part === null ? [] : { ...own, ...part, tagged: true as const }
  })
  return tagged.length === 1 ? tagged[0]! : null
}

/** The carrier's names, each in the place of the part that it names. */
const referencesIn = (names: readonly string[], { part, parts }: CarrierReference): (string | null)[] =>
  parts === 1 ? [...names] : Array.from({ length: parts }, (_, place) => (place + 1 === part ? (names[0] ?? null) : null))
