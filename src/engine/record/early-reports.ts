import type { CarrierReport, ReferenceTag } from '../../channels/provider.js'
import type { Json } from '../../domain/canonical-json.js'
import { deleteEarlyReport, findTagged, probeEarlyReports } from '../../store/carrier/early-reports.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import type { CarrierEventParts } from './carrier-events.js'
import { onlyTagged, toChange } from './reports.js'

/** Kept reports that one worker looks at in a round: reports about messages that others send under our account cost no more. */
const BATCH = 500

type StoredReport = Omit<CarrierReport, 'at'> & { at: string | null; carrier: string }

export const serialiseReport = (report: CarrierReport, carrier: string): Json =>
  JSON.parse(JSON.stringify({ ...report, carrier })) as Json

function parseReport(stored: Json): { carrier: string; report: CarrierReport } {
  const { carrier, ...report } = stored as unknown as StoredReport
  return { carrier, report: { ...report, at: report.at === null ? null : new Date(report.at) } }
}

/** Records the reports that came before the reference, or the unknown outcome, that they are about. */
export async function takeEarlyReports(
  { pool, clock, recorder }: Omit<CarrierEventParts, 'onUnmatched'>,
  { probeMs }: Pick<EngineTiming, 'probeMs'> = engineTiming,
): Promise<void> {
  const probed = await probeEarlyReports(pool, BATCH, probeMs)
  const early = probed.map(({ id, report, reference }) => ({ id, reference, ...parseReport(report) }))
  const tagged = early.filter(({ reference, report }) => reference === null && tagOf(report) !== undefined)
  const ids = tagged.map(({ id }) => id)
  const unknown = ids.length === 0 ? new Map<string, string[]>() : await findTagged(pool, ids)
  // One after the other: they are recorded in the order in which they came.
  for (const { id, reference, carrier, report } of early) {
    const known = reference ?? onlyTagged(tagOf(report)?.bits ?? -1, unknown.get(id) ?? [])
    if (known === null) continue
    await recorder.record(toChange(known, report, carrier, clock))
    await deleteEarlyReport(pool, id)
  }
}

const tagOf = ({ of }: CarrierReport): ReferenceTag | undefined => ('ours' in of ? undefined : of.tag)
