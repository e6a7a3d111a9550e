import type pg from 'pg'
import type { Mode } from '../../domain/access/token.js'
import type { DatedStatus } from '../../domain/delivery/status.js'
import { addUnknownSince, DELIVERY_COLUMNS, type FoundStatus, STATUS_COLUMNS } from '../delivery/deliveries.js'
import { type IdMonths, monthsOfIds, nameWithin, withinMonths } from '../months.js'
import { type Queryable, queryRows } from '../postgres.js'

export interface FoundNotification {
  id: string
  account: string
  code: number
  customId: string | null
  recipientName: string | null
  subject: string | null
  acceptedAt: Date
  deliveries: (FoundStatus & DatedStatus & { recipient: string | null })[]
}

export interface FoundPage {
  notifications: FoundNotification[]
  /** Where the next page begins; null: this is the last one. */
  next: string | null
}

/**
 * One of a page's ids, which are newest first. A list alone does not tell the server which months it may leave out, so that each id would be
 * looked up in all of them.
 */
export const isOneOf = (column: string): string => `${column} = any($1::uuid[]) and ${column} >= $2 and ${column} <= $3`

/** The first three parameters of a statement with isOneOf. */
export const rangeOf = (ids: readonly string[]): unknown[] => [ids, ids.at(-1), ids[0]]

type FoundRow = Omit<FoundNotification, 'deliveries'> & Omit<FoundNotification['deliveries'][number], 'unknownSince'>

/** The given ones of these accounts, newest first. `ids` are newest first, too. */
export async function readNotifications(
  db: Queryable,
  accounts: readonly string[],
  mode: Mode,
  ids: readonly string[],
): Promise<FoundNotification[]> {
  if (ids.length === 0) return []
  const months = monthsOfIds(ids)
  // A look-up for each id, which "limit" makes of it: joined, the tables would be compared row by row over the months of the page.
  const notifications = `select n.* from unnest($1::uuid[]) as page(id) cross join lateral (
      select ${NOTIFICATION_COLUMNS} from notification n
      where n.id = page.id and n.id between $2 and $3 and ${withinMonths(months, 'n.id')} and n.account_id = any($4::uuid[]) and n.mode = $5 limit 1
    ) n`
  const text = withDeliveries(notifications, months, 'and d.notification_id between $2 and $3')
  return readFound(
    db,
    { name: nameWithin(months, 'read-notifications'), text, values: [...rangeOf(ids), accounts, mode] },
    months,
  )
}

/** What withDeliveries reads of a notification. Why not all columns: DELIVERY_COLUMNS. */
export const NOTIFICATION_COLUMNS = 'id, account_id, code, recipient_name, subject'

/**
 * The rows of `notifications`, each with its deliveries, which are looked up one by one as above. Nothing sorts them: the server sends the
 * first rows while it looks for the next ones. Sorted, they came all at once, and the program waited for the last one before it read any.
 */
export const withDeliveries = (notifications: string, months: IdMonths | null, range = ''): string =>
  `select n.id, n.account_id as account, n.code, n.recipient_name as "recipientName", n.subject, d.recipient, ${STATUS_COLUMNS}
   from (${notifications}) n
   cross join lateral (select d.recipient, ${DELIVERY_COLUMNS} from delivery d
     where d.notification_id = n.id and ${withinMonths(months, 'd.notification_id')} ${range} offset 0) d`

/** Runs a statement of withDeliveries. Newest first; the deliveries of a notification are in no order. */
export async function readFound(db: Queryable, query: pg.QueryConfig, months: IdMonths | null): Promise<FoundNotification[]> {
  const rows = await queryRows<FoundRow>(db, query)
  const found = new Map<string, FoundNotification>()
  for (const { id, account, code, recipientName, subject, ...status } of await addUnknownSince(db, rows, months)) {
    const { customId, acceptedAt } = status
    const notification = found.get(id) ?? { id, account, code, customId, recipientName, subject, acceptedAt, deliveries: [] }
    notification.deliveries.push(status)
    found.set(id, notification)
  }
  // Stored ids compare as their bytes do: they are in lower case.
  return [...found.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
}
