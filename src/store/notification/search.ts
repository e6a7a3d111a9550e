import type pg from 'pg'
import type { Channel } from '../../domain/channel.js'
import type { DeliveryState } from '../../domain/delivery/status.js'
import { HIGHEST_ID, lowestId } from '../../domain/id.js'
import type { Scope } from '../../domain/scope.js'
import type { AnnouncedFact } from '../../domain/webhook.js'
import { type Queryable, queryValues } from '../postgres.js'
import { type FoundPage, isOneOf, rangeOf, readNotifications } from './found-notifications.js'
import { newestIds, readNewest } from './newest-notifications.js'

export interface Search {
  scope: Scope
  customId: string | null
  /** The recipient in the forms in which deliveries may store it, in lower case; null: any recipient. */
  recipients: readonly string[] | null
  channel: Channel | null
  status: SearchedStatus | null
  /** Accepted from this moment on, and before that one. */
  fromMs: number | null
  toMs: number | null
  /** Only notifications older than this one: the page after it. */
  before: string | null
}

/** The present state of a delivery, or something that happened to it. */
export type SearchedStatus = { state: DeliveryState } | { fact: AnnouncedFact }

/** Bounds the work of a page whose channel or status is rare: such a page may hold fewer notifications than it could, and the next one goes on. */
export interface PageSize {
  notifications: number
  batch: number
  batches: number
}

export const PAGE_SIZE: PageSize = { notifications: 50, batch: 500, batches: 4 }

/** Lists and searches the notifications of a scope, newest first, in pages that cost a range of an index each. */
export async function searchNotifications(db: Queryable, search: Search, size: PageSize = PAGE_SIZE): Promise<FoundPage> {
  const { scope, customId, recipients, channel, status } = search
  const isFiltered = channel !== null || status !== null || (customId !== null && recipients !== null)
  const isNamed = customId !== null || recipients !== null
  const of = { accounts: [scope.account], mode: scope.mode }
  if (!isFiltered && !isNamed) return readNewest(db, { ...of, ...search }, size.notifications)
  const { ids, next } = await collectPage(size, search.before, {
    readBatch: (before, limit) =>
      isNamed
        ? queryValues<string>(db, candidatesQuery({ ...search, before }, limit))
        : newestIds(db, { ...of, ...search, before }, limit),
    filter: isFiltered ? candidates => findMatching(db, search, candidates) : null,
  })
  return { notifications: await readNotifications(db, of.accounts, of.mode, ids), next }
}

interface PageSource {
  /** The newest ids below `before`, newest first; an id may come twice. */
  readBatch(before: string | null, limit: number): Promise<string[]>
  /** Which of these ids belong into the page; null: all of them. */
  filter: ((ids: readonly string[]) => Promise<Set<string>>) | null
}

/** Reads batches of ids until the page is full or its work is bounded. `next`: where the next page begins; null: this is the last one. */
export async function collectPage(
  size: PageSize,
  from: string | null,
  { readBatch, filter }: PageSource,
): Promise<{ ids: string[]; next: string | null }> {
  const limit = filter === null ? size.notifications : size.batch
  const found: string[] = []
  let before = from
  let more = true
  for (let round = 0; round < size.batches && more && found.length < size.notifications; round++) {
    const ids = await readBatch(before, limit)
    more = ids.length === limit
    before = ids.at(-1) ?? before
    const matching = filter === null ? new Set(ids) : await filter(ids)
    found.push(...new Set(ids.filter(id => matching.has(id))))
  }
  const page = found.slice(0, size.notifications)
  return { ids: page, next: page.length < found.length ? page.at(-1)! : more ? before : null }
}

/**
 * The newest notifications of a recipient or a customID below the cursor, by the narrowest index. Those of a recipient may come twice, once
 * for each channel. Without a name: the plan is made again each time, for the size that the tables have by then.
 */
export function candidatesQuery(search: Search, limit: number): pg.QueryConfig {
  const { scope, customId, recipients, fromMs, toMs, before } = search
  const low = lowestId(fromMs ?? 0)
  const high = [toMs === null ? HIGHEST_ID : lowestId(toMs), before ?? HIGHEST_ID].sort()[0]!
  const values = [scope.account, scope.mode, low, high, limit]
  const ofScope = 'account_id = $1 and mode = $2'
  return customId === null
    ? {
        // One range of the index for each form of the recipient.
        text: `select d.notification_id from unnest($6::text[]) as form
               cross join lateral (
                 select notification_id from delivery
                 where ${ofScope} and lower(recipient) = form and recipient is not null and notification_id >= $3 and notification_id < $4
                 order by notification_id desc limit $5
               ) d
               order by d.notification_id desc limit $5`,
        values: [...values, recipients],
      }
    : {
        text: `select id from notification where ${ofScope} and custom_id = $6 and id >= $3 and id < $4 order by id desc limit $5`,
        values: [...values, customId],
      }
}

/** Which of these notifications have one delivery that matches the recipient, the channel and the status. */
async function findMatching(
  db: Queryable,
  { recipients, channel, status }: Search,
  ids: readonly string[],
): Promise<Set<string>> {
  const matching = await queryValues<string>(
    db,
    `select d.notification_id from delivery d
     where ${isOneOf('d.notification_id')} and ($4::text is null or d.channel = $4)
       and ($5::text[] is null or lower(d.recipient) = any($5)) and ${conditionOf(status)}`,
    [...rangeOf(ids), channel, recipients],
  )
  return new Set(matching)
}

/** Every text is one of ours: a state or a condition of this table. */
export const conditionOf = (status: SearchedStatus | null): string => {
  if (status === null) return 'true'
  return 'state' in status ? `d.state = '${status.state}'` : factConditions[status.fact]
}

const wasRecorded = (type: AnnouncedFact): string =>
  `exists (select from event e where e.notification_id = d.notification_id and e.type = '${type}' and e.data ->> 'channel' = d.channel)`

const factConditions: Readonly<Record<AnnouncedFact, string>> = {
  processed: 'd.processed_at is not null',
  prepared: 'd.prepared_at is not null',
  sent: 'd.sent_at is not null',
  delivered: 'd.delivered_at is not null',
  read: 'd.read_at is not null',
  confirmed: 'd.confirmed_at is not null',
  'link opened': 'd.link_opened_at is not null',
  answered: 'd.answered_at is not null',
  failed: 'd.failure is not null',
  cancelled: 'd.cancel_reason is not null',
  // What is known by now is not searched for.
  uncertain: "d.state in ('uncertain', 'unresolved')",
  recorded: wasRecorded('recorded'),
  revived: wasRecorded('revived'),
}
