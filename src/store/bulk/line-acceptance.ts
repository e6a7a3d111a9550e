import type { Acceptance, BatchLine } from '../../domain/notification.js'
import { execute, type Queryable, queryRows } from '../postgres.js'

type OfLine = { id: string; line: BatchLine }
const ofLines = (group: readonly Acceptance[]): OfLine[] =>
  group.flatMap(({ id, line }) => (line === undefined ? [] : [{ id, line }]))

/**
 * Locks the lines of a group that may still be accepted: their batch is being sent, and nobody accepted them. Returns the ids of the
 * acceptances that may be written; those of no batch are among them. A batch is locked before its lines, so that none is accepted after
 * a pause was committed.
 */
export async function lockLines(db: Queryable, group: readonly Acceptance[]): Promise<Set<string>> {
  const asked = ofLines(group)
  const free = group.filter(({ line }) => line === undefined).map(({ id }) => id)
  if (asked.length === 0) return new Set(free)
  await queryRows(db, "select from bulk_batch where id = any($1::uuid[]) and state = 'sending' order by id for no key update", [
    [...new Set(asked.map(({ line }) => line.batch))],
  ])
  const open = await queryRows<{ id: string }>(
    db,
    `select a.id from json_to_recordset($1) as a(id uuid, batch uuid, line int)
     join bulk_batch b on b.id = a.batch and b.state = 'sending'
     join bulk_line l on l.batch_id = a.batch and l.line = a.line and l.state = 'good'
     order by a.batch, a.line for no key update of l`,
    [JSON.stringify(asked.map(({ id, line }) => ({ id, ...line })))],
  )
  return new Set([...free, ...open.map(({ id }) => id)])
}

/** The notification has the data of its line from now on. */
export async function markAccepted(db: Queryable, group: readonly Acceptance[]): Promise<void> {
  const asked = ofLines(group)
  if (asked.length === 0) return
  await execute(
    db,
    `with marked as (
       update bulk_line l set state = 'accepted', notification_id = a.id, cells = null
       from json_to_recordset($1) as a(id uuid, batch uuid, line int)
       where l.batch_id = a.batch and l.line = a.line and l.state = 'good' returning l.batch_id
     )
     update bulk_batch b set accepted = accepted + m.count
     from (select batch_id, count(*)::int as count from marked group by batch_id) m where b.id = m.batch_id`,
    [JSON.stringify(asked.map(({ id, line }) => ({ id, ...line })))],
  )
}
