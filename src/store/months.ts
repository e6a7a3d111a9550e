import { lowestId } from '../domain/id.js'

/**
 * The month of a notification, as constants for the text of a statement. A plan made with them holds the partitions of that month alone;
 * with parameters it holds all months, and each execution opens and locks every one of them.
 */
export interface IdMonth {
  /** 2026_11 */
  name: string
  low: string
  high: string
}

/** No installation is older. Ids are given by callers: without bounds, made-up ones would fill the memory of the server with plans. */
const FIRST_MS = Date.UTC(2025, 0)
const MONTHS_AHEAD = 2

/** null: no month that has partitions, so that a general statement is needed. */
export function monthOfId(id: string): IdMonth | null {
  const at = new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
  const now = new Date()
  if (at.getTime() < FIRST_MS || at.getTime() >= Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + MONTHS_AHEAD)) return null
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  return {
    name: `${year}_${String(month + 1).padStart(2, '0')}`,
    low: lowestId(Date.UTC(year, month)),
    high: lowestId(Date.UTC(year, month + 1)),
  }
}

/** The condition of a column with the notification's id; null: none. */
export const withinMonth = (month: IdMonth | null, column: string): string =>
  month === null ? 'true' : `${column} >= '${month.low}' and ${column} < '${month.high}'`
