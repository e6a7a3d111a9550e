import type { CarrierSource } from '../../domain/delivery/carrier-source.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { deleteInBatches, execute, type Queryable, run } from '../postgres.js'
import { byLikelihood, type CarrierReference, REFERENCE_COLUMNS, WITH_UNKNOWN_OUTCOME } from './references.js'

/** Keeps a report that came before its message was known, or that is about no message of ours. Only its source's messages can be meant. */
export const keepEarlyReport = (
  db: Queryable,
  { channel, carriers, modes }: CarrierSource,
  names: readonly string[],
  report: object,
): Promise<void> =>
  execute(db, 'insert into early_report (channel, carriers, modes, names, report) values ($1, $2, $3, $4, $5)', [
    channel,
    carriers,
    modes,
    names,
    JSON.stringify(report),
  ])

export interface EarlyReport {
  id: string
  source: CarrierSource
  report: Json
  /** The message that it is about; null: still unknown. */
  reference: CarrierReference | null
}

interface EarlyRow extends CarrierReference {
  id: string
  source: CarrierSource
  report: Json
}

/**
 * Takes due reports in their order of arrival; no two workers take the same report. A report becomes due again after the next of
 * these waits, so that another worker takes it if this one dies. After the last wait the report stays until its reference is stored.
 */
export async function probeEarlyReports(db: Queryable, limit: number, waitsMs: readonly number[]): Promise<EarlyReport[]> {
  const { rows } = await run<EarlyRow>(db, {
    name: 'probe-early-reports',
    text: `with due as (
             select id from early_report where due_at <= now() order by due_at, id limit $1 for update skip locked
           ), probed as (
             update early_report e set probes = e.probes + 1,
               due_at = coalesce(now() + ($2::bigint[])[e.probes + 1] * interval '1 millisecond', 'infinity')
             from due where e.id = due.id returning e.*
           )
           select p.id::text, jsonb_build_object('channel', p.channel, 'carriers', p.carriers, 'modes', p.modes) as source, p.report, r.*
           from probed p left join lateral (
             select ${REFERENCE_COLUMNS} from carrier_reference r where r.carrier = any(p.carriers) and r.reference = any(p.names)
             ${byLikelihood('p.names', 'p.carriers')}
           ) r on true order by p.id`,
    values: [limit, waitsMs],
  })
  return rows.map(({ id, source, report, ...reference }) => ({
    id,
    source,
    report,
    reference: reference.notification === null ? null : reference,
  }))
}

/** Our references of the messages with unknown outcome to the numbers in these reports, by report. */
export async function findTagged(db: Queryable, ids: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await run<{ id: string; references: string[] }>(
    db,
    `select e.id::text, array_agg(d.reference) as "references"
     from early_report e
     join delivery d on d.recipient = e.report #>> '{of,tag,recipient}' and d.channel = e.channel and d.carrier = any(e.carriers)
       and d.mode = any(e.modes) and ${WITH_UNKNOWN_OUTCOME}
     where e.id = any($1::bigint[]) group by e.id`,
    [ids],
  )
  return new Map(rows.map(({ id, references }) => [id, references]))
}

/** Due before all others, and probed from the first wait on. */
const WOKEN = "due_at = '-infinity', probes = 0"

/** These names are being stored in this transaction: reports that were kept under them are due once it commits. */
export const wakeNamed = (db: Queryable, carriers: readonly string[], names: readonly string[]): Promise<void> =>
  execute(db, {
    name: 'wake-named-reports',
    text: `update early_report set ${WOKEN} where carriers && $1::text[] and names && $2::text[]`,
    values: [carriers, names],
  })

/** An outcome of these notifications has just become unknown: reports with a tag that were kept for their numbers are due. */
export const wakeTagged = (db: Queryable, notifications: readonly string[]): Promise<void> => {
  const months = recentMonthsOfIds(notifications)
  return execute(db, {
    name: nameWithin(months, 'wake-tagged-reports'),
    text: `update early_report e set ${WOKEN} from delivery d
     where d.notification_id = any($1::uuid[]) and ${withinMonths(months, 'd.notification_id')}
       and ${WITH_UNKNOWN_OUTCOME} and e.report #>> '{of,tag,recipient}' = d.recipient`,
    values: [notifications],
  })
}

/** One at a time: two statements that delete several in different orders could wait for each other. */
export const deleteEarlyReport = (db: Queryable, id: string): Promise<void> =>
  execute(db, 'delete from early_report where id = $1', [id])

/** After a day a report is about a message that is not ours. */
export const deleteStaleReports = (db: Queryable): Promise<void> =>
  deleteInBatches(db, 'early_report', "received_at < now() - interval '1 day'", 'received_at')
