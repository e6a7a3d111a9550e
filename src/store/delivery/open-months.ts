import { DAY_MS } from '../../domain/units.js'
import { type IdMonths, monthsBetween } from '../months.js'
import { type Queryable, queryRows } from '../postgres.js'

/**
 * The months in which a delivery may have to be sent: from the oldest with one that is not finished to the current one. A day more on both
 * sides, because what is being written now may be of the month that has just ended, and nodes differ a little about the time.
 */
export async function readOpenMonths(db: Queryable): Promise<IdMonths> {
  const rows = await queryRows<{ since: string | null; now: Date }>(db, 'select open_since() as since, now()')
  const { since, now } = rows[0]!
  const months = monthsBetween(new Date(now.getTime() - DAY_MS), new Date(now.getTime() + DAY_MS))
  return since === null || since > months.low ? months : { ...months, low: since }
}
