import type { Json } from '../domain/canonical-json.js'
import { type CarrierReference, REFERENCE_COLUMNS } from './carrier-references.js'
import { deleteInBatches, type Queryable, run } from './postgres.js'
import { DOUBTFUL, ofKind } from './unknown-by-recipient.js'

/** Reports that came before we knew what they are about, or that speak of nothing of ours. */
export async function keepEarlyReport(db: Queryable, carrier: string, names: readonly string[], report: Json): Promise<void> {
  await run(db, 'insert into early_report (carrier, names, report) values ($1, $2, $3)', [carrier, names, JSON.stringify(report)])
}

export interface EarlyReport {
  id: string
  report: Json
  /** What it speaks of by its likeliest name; null: still unknown. */
  reference: CarrierReference | null
}

interface EarlyRow extends CarrierReference {
  id: string
  report: Json
}

/**
 * Those whose turn it is, in the order in which they came, each for one worker alone. Each is put off by the next of these
 * waits before it is looked at, so that whoever dies over it leaves it to others; after the last one it waits to be woken.
 */
export async function probeEarlyReports(db: Queryable, limit: number, waitsMs: readonly number[]): Promise<EarlyReport[]> {
  const { rows } = await run<EarlyRow>(
    db,
    `with due as (
       select id from early_report where due_at <= now() order by due_at, id limit $1 for update skip locked
     ), probed as (
       update early_report e set probes = e.probes + 1,
         due_at = coalesce(now() + ($2::bigint[])[e.probes + 1] * interval '1 millisecond', 'infinity')
       from due where e.id = due.id returning e.id, e.carrier, e.names, e.report
     )
     select p.id::text, p.report, r.* from probed p left join lateral (
       select ${REFERENCE_COLUMNS} from carrier_reference r where r.carrier = p.carrier and r.reference = any(p.names)
       order by array_position(p.names, r.reference) limit 1
     ) r on true order by p.id`,
    [limit, waitsMs],
  )
  return rows.map(({ id, report, ...reference }) => ({
    id,
    report,
    reference: reference.notification === null ? null : reference,
  }))
}

/** Our references of the doubtful sends to the numbers of these reports, by report. */
export async function findEarlyMarked(db: Queryable, ids: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await run<{ id: string; references: string[] }>(
    db,
    `select e.id::text, array_agg(d.reference) as "references"
     from early_report e
     join delivery d on d.recipient = e.report #>> '{of,mark,recipient}' and ${ofKind("e.report ->> 'provider'")} and ${DOUBTFUL}
     where e.id = any($1::bigint[]) group by e.id`,
    [ids],
  )
  return new Map(rows.map(({ id, references }) => [id, references]))
}

/** Before all others, and with all their waits before them. */
const WOKEN = "due_at = '-infinity', probes = 0"

/** These names have just become known: whatever was kept under them has its turn, once this is committed. */
export async function wakeNamed(db: Queryable, carriers: readonly string[], names: readonly string[]): Promise<void> {
  await run(db, `update early_report set ${WOKEN} where carrier = any($1::text[]) and names && $2::text[]`, [carriers, names])
}

/** Of these notifications something has just become doubtful: whatever was kept about their numbers has its turn. */
export async function wakeMarked(db: Queryable, notifications: readonly string[]): Promise<void> {
  await run(
    db,
    `update early_report e set ${WOKEN} from delivery d
     where d.notification_id = any($1::uuid[]) and ${DOUBTFUL} and e.report #>> '{of,mark,recipient}' = d.recipient`,
    [notifications],
  )
}

/** One at a time: two statements that each hold some of several could wait for each other. */
export async function deleteEarlyReport(db: Queryable, id: string): Promise<void> {
  await run(db, 'delete from early_report where id = $1', [id])
}

/** Those of messages that are not ours. */
export async function deleteStaleReports(db: Queryable): Promise<void> {
  await deleteInBatches(db, 'early_report', "received_at < now() - interval '1 day'")
}
