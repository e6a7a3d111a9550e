import type pg from 'pg'
import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { HIGHEST_ID, lowestId } from '../../domain/id.js'
import { DAY_MS } from '../../domain/units.js'
import { type IdMonths, monthsOfPage, withinMonths } from '../months.js'
import {
  collectPage,
  conditionOf,
  type FoundPage,
  isOneOf,
  PAGE_SIZE,
  type PageSize,
  rangeOf,
  readNotifications,
  type SearchedStatus,
} from '../notification/search.js'
import { plannedOnce, type Queryable, queryValues } from '../postgres.js'

export interface ListQuestion {
  accounts: readonly string[]
  mode: Mode
  text: SearchedText | null
  channel: Channel | null
  status: SearchedStatus | null
  /** Nothing of it arrived anywhere, and nothing more will be sent. */
  notReached: boolean
  fromMs: number | null
  toMs: number | null
  before: string | null
}

/** `recipients`: the recipient in the forms in which deliveries may store it, in lower case. */
export type SearchedText = { id: string } | { customId: string; recipients: readonly string[] } | { subject: string }

/**
 * The notifications of one or more accounts, newest first, in pages that cost a range of an index for each account. A page may hold
 * fewer notifications than it could, if the question is about rare ones: the next page goes on.
 */
export async function listNotifications(db: Queryable, question: ListQuestion, size: PageSize = PAGE_SIZE): Promise<FoundPage> {
  const { channel, status, notReached, text, accounts, mode } = question
  const isFiltered = channel !== null || status !== null || notReached || (text !== null && 'subject' in text)
  const { ids, next } = await collectPage(size, question.before, {
    readBatch: (before, limit) => readBatch(db, { ...question, before }, limit),
    filter: isFiltered ? candidates => findMatching(db, question, candidates) : null,
  })
  return { notifications: await readNotifications(db, accounts, mode, ids), next }
}

/** Reads the ids of a page from the months in which a page usually lies; from all months if those have too few. */
async function readBatch(db: Queryable, question: ListQuestion, limit: number): Promise<string[]> {
  const { text, fromMs } = question
  const readOf = (months: IdMonths | null) => queryValues<string>(db, plannedOnce(listQuery(question, limit, months)))
  // Those of one person or number are few, and of any age.
  const months = text === null || 'subject' in text ? monthsOfPage(newestOf(question)) : null
  if (months === null) return readOf(null)
  const ids = await readOf(months)
  return ids.length === limit || lowestId(fromMs ?? 0) >= months.low ? ids : readOf(null)
}

/** No listed id is higher. */
function newestOf({ toMs, before }: ListQuestion): string {
  // The clocks of nodes differ.
  const soon = lowestId(Date.now() + DAY_MS)
  return [toMs === null ? soon : lowestId(toMs), before ?? soon, soon].sort()[0]!
}

/** The newest notifications below the cursor. One range of an index for each account: an index over all accounts would cost every send. */
export function listQuery(
  { accounts, mode, text, fromMs, toMs, before }: ListQuestion,
  limit: number,
  months: IdMonths | null = null,
): pg.QueryConfig {
  const high = [toMs === null ? HIGHEST_ID : lowestId(toMs), before ?? HIGHEST_ID].sort()[0]!
  const values: unknown[] = [accounts, mode, lowestId(fromMs ?? 0), high, limit]
  const ofAccounts = (source: string): string =>
    `select c.id from unnest($1::uuid[]) as a(id) cross join lateral (${source} order by 1 desc limit $5) c`
  const page = 'order by 1 desc limit $5'
  const notifications = `select id from notification
    where account_id = a.id and mode = $2 and id >= $3 and id < $4 and ${withinMonths(months, 'id')}`
  if (text === null || 'subject' in text) return { text: `${ofAccounts(notifications)} ${page}`, values }
  if ('id' in text) return { text: `${ofAccounts(`${notifications} and id = $6`)} ${page}`, values: [...values, text.id] }
  const deliveries = `select notification_id from delivery
    where account_id = a.id and mode = $2 and lower(recipient) = f.form and recipient is not null and notification_id >= $3 and notification_id < $4`
  return {
    text: `${ofAccounts(`${notifications} and custom_id = $6`)}
           union
           select c.notification_id from unnest($1::uuid[]) as a(id) cross join unnest($7::text[]) as f(form)
           cross join lateral (${deliveries} order by 1 desc limit $5) c
           ${page}`,
    values: [...values, text.customId, text.recipients],
  }
}

const REACHED = 'r.delivered_at is not null or r.read_at is not null or r.confirmed_at is not null or r.answered_at is not null'
const UNDER_WAY = "r.state in ('waiting', 'queued', 'sending', 'uncertain', 'unresolved')"
const NOT_REACHED = `not exists (select from delivery r where r.notification_id = d.notification_id
  and r.notification_id >= $2 and r.notification_id <= $3 and (${REACHED} or ${UNDER_WAY}))`

/** Each filter is a statement of its own: joined, the deliveries of all ids were read once for every subject that matched. */
async function findMatching(
  db: Queryable,
  { channel, status, notReached, text }: ListQuestion,
  ids: readonly string[],
): Promise<Set<string>> {
  let left = ids
  if (text !== null && 'subject' in text && left.length > 0) {
    const matching = `select n.id from notification n where ${isOneOf('n.id')} and position($4 in lower(n.subject)) > 0 order by 1 desc`
    const query = { text: matching, values: [...rangeOf(left), text.subject.toLowerCase()] }
    left = await queryValues<string>(db, plannedOnce(query))
  }
  if ((channel !== null || status !== null || notReached) && left.length > 0) {
    const matching = `select d.notification_id from delivery d where ${isOneOf('d.notification_id')} and ($4::text is null or d.channel = $4)
       and ${conditionOf(status)} and ${notReached ? NOT_REACHED : 'true'}`
    left = await queryValues<string>(db, plannedOnce({ text: matching, values: [...rangeOf(left), channel] }))
  }
  return new Set(left)
}
