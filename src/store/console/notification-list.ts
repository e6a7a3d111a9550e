import type pg from 'pg'
import type { Channel } from '../../domain/channel.js'
import { listAccountNames } from '../accounts/accounts.js'
import { type FoundPage, isOneOf, rangeOf, readNotifications } from '../notification/found-notifications.js'
import {
  idsOf,
  type ManyQuestion,
  type NewestQuestion,
  newestIds,
  newestValues,
  ofAccounts,
  readNewest,
  readNewestOfAll,
} from '../notification/newest-notifications.js'
import { collectPage, conditionOf, PAGE_SIZE, type PageSize, type SearchedStatus } from '../notification/search.js'
import { plannedOnce, type Queryable, queryValues } from '../postgres.js'

export interface ListQuestion extends ManyQuestion {
  text: SearchedText | null
  channel: Channel | null
  status: SearchedStatus | null
  /** Nothing of it arrived anywhere, and nothing more will be sent. */
  notReached: boolean
}

/** `recipients`: the recipient in the forms in which deliveries may store it, in lower case. */
export type SearchedText = NamedText | { subject: string }
type NamedText = { id: string } | { customId: string; recipients: readonly string[] }

/**
 * The notifications of one or more accounts, newest first, in pages that cost a range of an index for each account. A page may hold
 * fewer notifications than it could, if the question is about rare ones: the next page goes on.
 */
export async function listNotifications(db: Queryable, question: ListQuestion, size: PageSize = PAGE_SIZE): Promise<FoundPage> {
  const { channel, status, notReached, text, mode } = question
  const isFiltered = channel !== null || status !== null || notReached || (text !== null && 'subject' in text)
  const isPlain = !isFiltered && text === null
  const newest = isPlain && question.accounts === null ? await readNewestOfAll(db, question, size.notifications) : null
  if (newest !== null) return newest
  const accounts = question.accounts ?? (await listAccountNames(db, null)).map(({ id }) => id)
  if (isPlain) return readNewest(db, { ...question, accounts }, size.notifications)
  const { ids, next } = await collectPage(size, question.before, {
    readBatch: (before, limit) => readBatch(db, { ...question, accounts, before }, limit),
    filter: isFiltered ? candidates => findMatching(db, question, candidates) : null,
  })
  return { notifications: await readNotifications(db, accounts, mode, ids), next }
}

/** Reads the ids of a page. */
const readBatch = (db: Queryable, question: ListQuestion & NewestQuestion, limit: number): Promise<string[]> => {
  const { text } = question
  return text === null || 'subject' in text
    ? newestIds(db, question, limit)
    : queryValues<string>(db, plannedOnce(namedQuery(question, text, limit)))
}

/** The notifications of one person or number are few, and of any age: they are looked for in all months. */
export function namedQuery(question: NewestQuestion, text: NamedText, limit: number): pg.QueryConfig {
  const values = newestValues(question, limit)
  if ('id' in text) return { text: ofAccounts(`${idsOf(null)} and id = $6`), values: [...values, text.id] }
  const deliveries = `select notification_id from delivery
    where account_id = a.id and mode = $2 and lower(recipient) = f.form and recipient is not null and notification_id >= $3 and notification_id < $4`
  return {
    text: `(${ofAccounts(`${idsOf(null)} and custom_id = $6`)})
           union
           select c.notification_id from unnest($1::uuid[]) as a(id) cross join unnest($7::text[]) as f(form)
           cross join lateral (${deliveries} order by 1 desc limit $5) c
           order by 1 desc limit $5`,
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
