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
const RECENT_MONTHS = 12
const MONTHS_AHEAD = 2
/** Two more cost each page 0.05 ms; an account that needs more months for a page pays 0.6 ms for looking in all of them. */
const MONTHS_OF_A_PAGE = 4
const SPANS = [1, 2, 4, 6] as const

/** null: no month that has a statement of its own, so that a general one is needed. */
export const monthOfId = (id: string): IdMonths | null => monthsUntil(timeOfId(id), 1)

/** The months in which a page of a list usually lies: the one of its newest id and some before; null as above. */
export const monthsOfPage = (newest: string): IdMonths | null => monthsUntil(timeOfId(newest), MONTHS_OF_A_PAGE)

/**
 * Months that hold all of these ids, which are in their stored form; null as above, or where the ids are too far apart. The fewer months, the
 * less a statement costs; but each connection keeps a plan for each number of them.
 */
export const monthsOfIds = (ids: readonly string[]): IdMonths | null => monthsOf(ids, MONTHS_BACK)

/** The same for statements of which there are many: they have plans of their own for the last year alone, in which nearly all is recorded. */
export const recentMonthsOfIds = (ids: readonly string[]): IdMonths | null => monthsOf(ids, RECENT_MONTHS)

function monthsOf(ids: readonly string[], back: number): IdMonths | null {
  let [oldest = '', newest = ''] = [ids[0], ids[0]]
  for (const id of ids) {
    if (id < oldest) oldest = id
    if (id > newest) newest = id
  }
  for (const count of SPANS) {
    const months = monthsUntil(timeOfId(newest), count, back)
    if (months === null || oldest >= months.low) return months
  }
  return null
}

export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))

/** The spans made so far: every group of facts needs some. Their number is bounded by that of the months and of the spans. */
const known = new Map<string, IdMonths>()

function monthsUntil(at: Date, count: number, back = MONTHS_BACK): IdMonths | null {
  const now = new Date()
  const monthFromNow = (months: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)
  if (!(at.getTime() >= monthFromNow(-back) && at.getTime() < monthFromNow(MONTHS_AHEAD))) return null
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  const key = `${year} ${month} ${count}`
  const months = known.get(key) ?? monthsBetween(new Date(Date.UTC(year, month + 1 - count)), at)
  known.set(key, months)
  return months
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
