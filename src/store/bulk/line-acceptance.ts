import type { Acceptance } from '../../domain/notification.js'
import { execute, type Queryable, queryValues } from '../postgres.js'

/** The acceptances of a group that come from lines, by batch in one order everywhere, so that two nodes do not wait for each other. */
function ofBatches(group: readonly Acceptance[]): { batch: string; ids: string[]; lines: number[] }[] {
  const batches = new Map<string, { batch: string; ids: string[]; lines: number[] }>()
  for (const { id, line } of group) {
    if (line === undefined) continue
    const of = batches.get(line.batch) ?? { batch: line.batch, ids: [], lines: [] }
    of.ids.push(id)
    of.lines.push(line.line)
    batches.set(line.batch, of)
  }
  return [...batches.values()].sort((a, b) => (a.batch < b.batch ? -1 : 1))
}

/**
 * Locks the lines of a group that may still be accepted: their batch is being sent, and nobody accepted them. Returns the ids of the
 * acceptances that may be written; those of no batch are among them. A batch is locked before its lines, so that none is accepted after
 * a pause was committed.
 */
export async function lockLines(db: Queryable, group: readonly Acceptance[]): Promise<Set<string>> {
  const open = new Set(group.filter(({ line }) => line === undefined).map(({ id }) => id))
  for (const { batch, ids, lines } of ofBatches(group)) {
    const good = await queryValues<number>(db, {
      name: 'lock-bulk-lines',
      text: `with batch as materialized (select id from bulk_batch where id = $1 and state = 'sending' for no key update)
             select line from bulk_line
             where batch_id = (select id from batch) and line = any($2::int[]) and state = 'good' order by line for no key update`,
      values: [batch, lines],
    })
    for (const line of good) open.add(ids[lines.indexOf(line)]!)
  }
  return open
}

/** The notification has the data of its line from now on. */
export async function markAccepted(db: Queryable, group: readonly Acceptance[]): Promise<void> {
  for (const { batch, ids, lines } of ofBatches(group))
    await execute(db, {
      name: 'mark-bulk-lines',
      // By a list of numbers and not by a join: before the table is analysed, a join reads every open line of the batch.
      text: `with marked as (
               update bulk_line set state = 'accepted', cells = null,
                 notification_id = ($3::uuid[])[array_position($2::int[], line)]
               where batch_id = $1 and line = any($2::int[]) and state = 'good' returning line
             )
             update bulk_batch set accepted = accepted + (select count(*) from marked) where id = $1`,
      values: [batch, lines, ids],
    })
}
