import type { Channel } from '../../domain/channel.js'
import { recentMonthsOfIds, withinMonths } from '../months.js'
import { deleteInBatches, execute, matchesRow, type Queryable, queryRow } from '../postgres.js'
import type { Claim } from './claims.js'

/** A person, as an account reaches them by one channel. */
type Person = Pick<Claim, 'account' | 'mode' | 'channel'> & { recipient: string }

const personOf = ({ account, mode, channel, recipient }: Person): string[] => [account, mode, channel, recipient]

/**
 * Counts a message among those of a person's day; false: the day has as many as it may have. The same message counts once, so that the
 * statement may be repeated. One statement on one row: two workers cannot both take the last place.
 */
export const countContact = (db: Queryable, person: Person, day: string, message: string, perDay: number): Promise<boolean> =>
  matchesRow(
    db,
    `insert into contact_day as c (account_id, mode, channel, recipient, day, messages) values ($1, $2, $3, $4, $5, array[$6])
     on conflict (account_id, mode, channel, recipient, day) do update
       set messages = case when $6 = any(c.messages) then c.messages else c.messages || $6 end
       where $6 = any(c.messages) or cardinality(c.messages) < $7
     returning 1`,
    [...personOf(person), day, message, perDay],
  )

/**
 * Takes messages of which nothing left out of the counts. A row that another transaction holds keeps its message: the day allows one
 * contact less, never one more.
 */
export const uncountContacts = (
  db: Queryable,
  deliveries: readonly { notification: string; channel: Channel }[],
): Promise<void> => {
  const ids = deliveries.map(({ notification }) => notification)
  const months = recentMonthsOfIds(ids)
  return execute(
    db,
    `with unreached as (
       select c.account_id, c.mode, c.channel, c.recipient, c.day, d.reference
       from unnest($1::uuid[], $2::text[]) as asked(id, channel)
       cross join lateral (select account_id, mode, channel, recipient, reference from delivery
         where notification_id = asked.id and channel = asked.channel and ${withinMonths(months, 'notification_id')} limit 1) d
       cross join lateral (select * from contact_day where account_id = d.account_id and mode = d.mode and channel = d.channel
         and recipient = d.recipient and d.reference = any(messages) for no key update skip locked) c
     )
     update contact_day c set messages = array_remove(c.messages, u.reference) from unreached u
     where c.account_id = u.account_id and c.mode = u.mode and c.channel = u.channel and c.recipient = u.recipient and c.day = u.day`,
    [ids, deliveries.map(({ channel }) => channel)],
  )
}

/** `earlier`: the notification that brings the same content; null: another node is writing it at this moment. */
export type ContentUse = { taken: true } | { taken: false; earlier: string | null; wasSent: boolean; dueAt: Date | null }

/**
 * Takes a content for a notification, unless another one brought it to the person within the span of time or is still to bring it. What
 * failed, or was cancelled, brought nothing. `parts`: what the message is made of, beside the content that the acceptance states.
 */
export async function takeContent(
  db: Queryable,
  person: Person,
  notification: string,
  parts: string,
  withinMs: number,
): Promise<ContentUse> {
  const row = await queryRow<{ taken: boolean; earlier: string | null; wasSent: boolean | null; dueAt: Date | null }>(
    db,
    `with own as materialized (
       select sha256(convert_to($6 || ' ' || coalesce((select data ->> 'contentSha256' from event where notification_id = $5 and seq = 1), ''), 'UTF8')) as fingerprint
     ), taken as (
       insert into contact_content as c (account_id, mode, channel, recipient, fingerprint, notification_id, at)
       select $1, $2, $3, $4, fingerprint, $5, now() from own
       on conflict (account_id, mode, channel, recipient, fingerprint) do update
         set notification_id = excluded.notification_id, at = excluded.at
         where c.notification_id = excluded.notification_id or c.at < now() - $7 * interval '1 millisecond'
           or exists (select from delivery d where d.notification_id = c.notification_id and d.channel = c.channel
             and (d.failure is not null or d.state = 'cancelled'))
       returning 1
     )
     select exists (select from taken) as taken, c.notification_id as earlier,
       d.sent_at is not null or d.processed_at is not null as "wasSent", d.due_at as "dueAt"
     from own left join contact_content c on c.account_id = $1 and c.mode = $2 and c.channel = $3 and c.recipient = $4
         and c.fingerprint = own.fingerprint
       left join delivery d on d.notification_id = c.notification_id and d.channel = c.channel`,
    [...personOf(person), notification, parts, withinMs],
  )
  if (row!.taken) return { taken: true }
  return { taken: false, earlier: row!.earlier, wasSent: row!.wasSent ?? false, dueAt: row!.dueAt }
}

/** Days of other zones end later, and no setting remembers a content for longer. */
export async function deleteOldContacts(db: Queryable): Promise<void> {
  await deleteInBatches(db, 'contact_day', "day < now() - interval '3 days'", 'day')
  await deleteInBatches(db, 'contact_content', "at < now() - interval '31 days'", 'at')
}
