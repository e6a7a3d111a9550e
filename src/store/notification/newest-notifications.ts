import type pg from 'pg'
import type { Mode } from '../../domain/access/token.js'
import { HIGHEST_ID, lowestId } from '../../domain/id.js'
import { DAY_MS } from '../../domain/units.js'
import { type IdMonths, monthOfId, monthsOfPage, withinMonths } from '../months.js'
import { plannedOnce, type Queryable, queryValues } from '../postgres.js'
import {
  type FoundNotification,
  type FoundPage,
  NOTIFICATION_COLUMNS,
  readFound,
  readNotifications,
  withDeliveries,
} from './found-notifications.js'

/** All notifications of these accounts. */
export interface NewestQuestion {
  accounts: readonly string[]
  mode: Mode
  /** Accepted from this moment on, and before that one. */
  fromMs: number | null
  toMs: number | null
  /** Only notifications older than this one. */
  before: string | null
}

export interface ManyQuestion extends Omit<NewestQuestion, 'accounts'> {
  /** null: all of them. */
  accounts: readonly string[] | null
}

/** Of more accounts than these, the newest notifications of all accounts are looked through first. */
const MOST_RANGES = 20
/** How many are looked through, in pages: where most are of other accounts or of the other mode, a range for each account costs less. */
const LOOKED_THROUGH = 10

/** The last page lay within one month, so the next one probably does: looked for in four, it takes the database half as long again. */
let liesInOneMonth = true

/**
 * Reads a page of all accounts, without a list of them: to read and pass a thousand took longer than the page. null: these notifications are
 * rare among the newest, so that they must be looked for in each account.
 */
export async function readNewestOfAll(
  db: Queryable,
  question: Omit<NewestQuestion, 'accounts'>,
  limit: number,
): Promise<FoundPage | null> {
  const newest = newestOf(question)
  for (const months of [monthOfId(newest), monthsOfPage(newest)]) {
    if (months === null) continue
    const query = newestOfManyQuery({ ...question, accounts: null }, limit, months)
    const found = await readFound(db, plannedOnce(query), months)
    if (found.length === limit) return pageOf(found, limit)
  }
  return null
}

const pageOf = (notifications: FoundNotification[], limit: number): FoundPage => ({
  notifications,
  next: notifications.length === limit ? notifications.at(-1)!.id : null,
})

/** Reads a page. That of accounts with many notifications takes one statement, about the months in which a page usually lies. */
export async function readNewest(db: Queryable, question: NewestQuestion, limit: number): Promise<FoundPage> {
  const month = monthOfId(newestOf(question))
  if (month !== null && liesInOneMonth && question.accounts.length <= MOST_RANGES) {
    const newest = await readRecent(db, question, limit, month)
    if (isWhole(newest, question, limit, month)) return pageOf(newest, limit)
  }
  const months = monthsOfPage(newestOf(question))
  const recent = months === null ? [] : await readRecent(db, question, limit, months)
  liesInOneMonth = month !== null && recent.length === limit && recent.at(-1)!.id >= month.low
  if (months !== null && isWhole(recent, question, limit, months)) return pageOf(recent, limit)
  const ids = await readIds(db, question, limit, null)
  const read = new Map(recent.map(found => [found.id, found]))
  const others = ids.filter(id => !read.has(id))
  for (const found of await readNotifications(db, question.accounts, question.mode, others)) read.set(found.id, found)
  return { notifications: ids.flatMap(id => read.get(id) ?? []), next: ids.length === limit ? ids.at(-1)! : null }
}

/** A page as far as it lies in these months. */
async function readRecent(
  db: Queryable,
  question: NewestQuestion,
  limit: number,
  months: IdMonths,
): Promise<FoundNotification[]> {
  const read = (query: typeof newestQuery): Promise<FoundNotification[]> =>
    readFound(db, plannedOnce(query(question, limit, months)), months)
  if (question.accounts.length > MOST_RANGES) {
    const newest = await read(newestOfManyQuery)
    if (newest.length === limit) return newest
  }
  return read(newestQuery)
}

/** Reads the ids of a page from the months in which it usually lies; from all months if those have too few. */
export async function newestIds(db: Queryable, question: NewestQuestion, limit: number): Promise<string[]> {
  const months = monthsOfPage(newestOf(question))
  const recent = months === null ? [] : await readIds(db, question, limit, months)
  return months !== null && isWhole(recent, question, limit, months) ? recent : readIds(db, question, limit, null)
}

/** Whether these months hold all that was asked for. */
const isWhole = (found: readonly unknown[], { fromMs }: NewestQuestion, limit: number, months: IdMonths): boolean =>
  found.length === limit || lowestId(fromMs ?? 0) >= months.low

const readIds = (db: Queryable, question: NewestQuestion, limit: number, months: IdMonths | null): Promise<string[]> =>
  queryValues<string>(db, plannedOnce({ text: ofAccounts(idsOf(months)), values: newestValues(question, limit) }))

/** No listed id is higher. */
function newestOf({ toMs, before }: Pick<NewestQuestion, 'toMs' | 'before'>): string {
  // The clocks of nodes differ.
  const soon = lowestId(Date.now() + DAY_MS)
  return [toMs === null ? soon : lowestId(toMs), before ?? soon, soon].sort()[0]!
}

/** The first parameters of a statement with ofAccounts. */
export function newestValues({ accounts, mode, fromMs, toMs, before }: ManyQuestion, limit: number): unknown[] {
  const high = [toMs === null ? HIGHEST_ID : lowestId(toMs), before ?? HIGHEST_ID].sort()[0]!
  return [accounts, mode, lowestId(fromMs ?? 0), high, limit]
}

/** The newest ids of a source of ids. One range of an index for each account a: an index over all accounts would cost every send. */
export const ofAccounts = (source: string): string =>
  `select c.id from unnest($1::uuid[]) as a(id) cross join lateral (${source} order by 1 desc limit $5) c order by 1 desc limit $5`

/** The ids of the account a. */
export const idsOf = (months: IdMonths | null): string =>
  `select id from notification where account_id = a.id and ${inRange(months)}`

const inRange = (months: IdMonths | null): string => `mode = $2 and id >= $3 and id < $4 and ${withinMonths(months, 'id')}`

/**
 * Of one account, the rows are read where the index of its ids leads: with look-ups by the key, a page cost half as much again where its
 * account is one of a thousand, because the rows of each id are then in places of their own.
 */
export function newestQuery(question: NewestQuestion, limit: number, months: IdMonths): pg.QueryConfig {
  const notifications =
    question.accounts.length === 1
      ? `select ${NOTIFICATION_COLUMNS} from notification where account_id = ($1::uuid[])[1] and ${inRange(months)} order by id desc limit $5`
      : `select n.* from (${ofAccounts(idsOf(months))}) page
         cross join lateral (select ${NOTIFICATION_COLUMNS} from notification n where n.id = page.id and ${withinMonths(months, 'n.id')} limit 1) n`
  return { text: withDeliveries(notifications, months), values: newestValues(question, limit) }
}

/** Of many accounts: a thousand ranges took 20 ms where a page of all is at the end of the table. Finds fewer than a page where these are rare. */
function newestOfManyQuery(question: ManyQuestion, limit: number, months: IdMonths): pg.QueryConfig {
  const newest = `select ${NOTIFICATION_COLUMNS}, mode from notification where id >= $3 and id < $4 and ${withinMonths(months, 'id')} order by id desc limit ${LOOKED_THROUGH} * $5`
  const notifications = `select * from (${newest}) n where mode = $2 and ($1::uuid[] is null or account_id = any($1::uuid[])) order by id desc limit $5`
  return { text: withDeliveries(notifications, months), values: newestValues(question, limit) }
}
