import { lowestId } from '../domain/id.js'

/**
 * Months of notifications, as constants for the text of a statement. A plan made with them holds the partitions of those months alone; with
 * parameters it holds all months, and each execution opens and locks every one of them.
 */
export interface IdMonths {
  /** The name of the last month: 2026_11 */
  name: string
  low: string
  high: string
}

/** Ids are given by callers: without bounds, made-up ones would fill the memory of the server with plans. */
const MONTHS_BACK = 72
const MONTHS_AHEAD = 2
const MONTHS_OF_A_PAGE = 6
const PAGE_SPANS = [1, 2, 4, MONTHS_OF_A_PAGE] as const

/** null: no month that has a statement of its own, so that a general one is needed. */
export const monthOfId = (id: string): IdMonths | null => monthsUntil(timeOfId(id), 1)

/** The months in which a page of a list usually lies: the one of its newest id and some before; null as above. */
export const monthsOfPage = (newest: string): IdMonths | null => monthsUntil(timeOfId(newest), MONTHS_OF_A_PAGE)

/**
 * Months that hold all ids of a page, which are newest first; null as above. The fewer months, the less a statement costs; but each connection
 * keeps a plan for each number of them.
 */
export function monthsOfIds(ids: readonly string[]): IdMonths | null {
  const newest = timeOfId(ids[0]!)
  return PAGE_SPANS.map(count => monthsUntil(newest, count)).find(months => months !== null && ids.at(-1)! >= months.low) ?? null
}

const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))

function monthsUntil(at: Date, count: number): IdMonths | null {
  const now = new Date()
  const monthFromNow = (months: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)
  if (at.getTime() < monthFromNow(-MONTHS_BACK) || at.getTime() >= monthFromNow(MONTHS_AHEAD)) return null
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  return monthsBetween(new Date(Date.UTC(year, month + 1 - count)), at)
}

/** The months of two moments and all in between. */
export function monthsBetween(first: Date, last: Date): IdMonths {
  const [year, month] = [last.getUTCFullYear(), last.getUTCMonth()]
  return {
    name: `${year}_${String(month + 1).padStart(2, '0')}`,
    low: lowestId(Date.UTC(first.getUTCFullYear(), first.getUTCMonth())),
    high: lowestId(Date.UTC(year, month + 1)),
  }
}

/** The name of a statement with these months in its text: with the first and the last of them, since PostgreSQL reads 63 characters. */
export const nameWithin = (months: IdMonths | null, name: string): string =>
  months === null ? name : `${name} ${months.low.slice(0, 13)} ${months.name}`

/** The condition of a column with the notification's id; null: none. */
export const withinMonths = (months: IdMonths | null, column: string): string =>
  months === null ? 'true' : `${column} >= '${months.low}' and ${column} < '${months.high}'`
