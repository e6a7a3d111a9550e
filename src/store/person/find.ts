import type { Mode } from '../../domain/access/token.js'
import { filterBy, type Queryable, queryRows, queryValues } from '../postgres.js'

/** How the data may know one person. */
export interface Person {
  /** Addresses, numbers and names as deliveries store them, in lower case. */
  contacts: readonly string[]
  /** The value as it was given, and a document with and without its points: identifiers that the sender chose. */
  names: readonly string[]
  /** Only in this account; null: in all of them. */
  account: string | null
}

export interface PersonsNotification {
  id: string
  account: string
  mode: Mode
  acceptedAt: Date
  contacts: string[]
  /** Something of it is still to be sent, or its outcome to be found out. */
  isOpen: boolean
  /** Why it is held; null: it is not. */
  heldBecause: string | null
}

/** By contact and by the sender's own identifier, each a range of an index; oldest first. Those that were erased are not found. */
export const findNotificationIds = (db: Queryable, { contacts, names, account }: Person): Promise<string[]> =>
  queryValues(
    db,
    `with scope as materialized (
       select a.id, m.mode from account a cross join (values ('live'), ('test')) as m(mode)
       where ${filterBy('$3::uuid', account, 'a.id = $3')}
     )
     select d.notification_id as id from scope s cross join unnest($1::text[]) as form cross join lateral (
       select notification_id from delivery
       where account_id = s.id and mode = s.mode and lower(recipient) = form and recipient is not null
     ) d
     union
     select n.id from scope s cross join unnest($2::text[]) as form cross join lateral (
       select id from notification where account_id = s.id and mode = s.mode and custom_id = form and custom_id is not null
     ) n
     order by id`,
    [contacts, names, account],
  )

/** The next page of all notifications; null: there are no more. Those that name the person anywhere: in contents, variables or events. */
export async function searchPage(
  db: Queryable,
  { contacts, names, account }: Person,
  after: string,
  limit: number,
): Promise<{ found: string[]; last: string } | null> {
  const page = await queryValues<string>(db, 'select id from notification where id > $1 order by id limit $2', [after, limit])
  if (page.length === 0) return null
  const last = page.at(-1)!
  const range = 'notification_id > $2 and notification_id <= $3'
  const found = await queryValues<string>(
    db,
    `select n.id from notification n where n.id > $2 and n.id <= $3 and ${filterBy('$4::uuid', account, 'n.account_id = $4')}
       and exists (
         select from unnest($1::text[]) as form where position(form in lower(concat_ws(' ', n.recipient_name, n.subject, n.content,
           (select string_agg(d.request::text, ' ') from delivery d where d.notification_id = n.id and d.${range}),
           (select string_agg(e.data::text, ' ') from event e where e.notification_id = n.id and e.${range})))) > 0)
     order by n.id`,
    [[...new Set([...contacts, ...names.map(name => name.toLowerCase())])], after, last, account],
  )
  return { found, last }
}

export const describeNotifications = (db: Queryable, ids: readonly string[]): Promise<PersonsNotification[]> =>
  queryRows(
    db,
    `select n.id, a.name as account, n.mode, n.accepted_at as "acceptedAt",
       array(select distinct d.recipient from delivery d where d.notification_id = n.id and d.recipient is not null order by 1) as contacts,
       exists (select from delivery d where d.notification_id = n.id
         and d.state in ('waiting', 'queued', 'sending', 'uncertain', 'unresolved')) as "isOpen",
       (select h.reason from legal_hold h where h.notification_id = n.id) as "heldBecause"
     from notification n join account a on a.id = n.account_id where n.id = any($1::uuid[]) order by n.id`,
    [ids],
  )
