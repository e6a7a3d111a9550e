import { execute, type Queryable, queryRows } from '../../store/postgres.js'

/** A call that a carrier took, until its end and its recording are known. */
export interface CallLookup {
  carrier: string
  name: string
  notification: string
  ordinal: number
}

export const planCallLookups = (db: Queryable, calls: readonly CallLookup[]): Promise<void> =>
  execute(
    db,
    `insert into call_lookup (carrier, name, notification_id, ordinal)
     select carrier, name, notification, ordinal from jsonb_to_recordset($1::jsonb)
       as c(carrier text, name text, notification uuid, ordinal smallint)
     on conflict do nothing`,
    [JSON.stringify(calls)],
  )

/** Plans a lookup for a moment from now, or brings a planned one forward. A call that was heard needs none. */
export const hurryCallLookup = (db: Queryable, call: CallLookup, delayMs: number): Promise<void> =>
  execute(
    db,
    `insert into call_lookup as c (carrier, name, notification_id, ordinal, due_at)
     select $1, $2, $3, $4, now() + $5 * interval '1 millisecond' where not exists (
       select from delivery where notification_id = $3 and channel = 'voice' and delivered_at is not null
     )
     on conflict (carrier, name) do update set due_at = least(c.due_at, excluded.due_at)`,
    [call.carrier, call.name, call.notification, call.ordinal, delayMs],
  )

/** Deletes calls that need no lookup: another call followed, the end and the recording are known, or a day has passed. */
export const dropKnownCalls = (db: Queryable, recording: readonly string[], limit: number): Promise<void> =>
  execute(db, {
    name: 'drop-known-calls',
    text: `delete from call_lookup where (carrier, name) in (
       select c.carrier, c.name from call_lookup c
       left join delivery d on d.notification_id = c.notification_id and d.channel = 'voice'
       where c.due_at <= now() and (
         d.notification_id is null or d.ordinal > c.ordinal or c.created_at < now() - interval '1 day'
         or (d.delivered_at is null and d.failure is not null and d.failure <> 'machine')
         or ((d.delivered_at is not null or d.failure = 'machine') and (
           c.carrier <> all($1::text[])
           or exists (select from recording r where r.notification_id = c.notification_id and r.ordinal = c.ordinal)
         ))
       )
       limit $2 for update of c skip locked
     )`,
    values: [recording, limit],
  })

/** Takes the calls that are due. Each is due again, later each time, because this node may die before the carrier answers. */
export const takeOpenCalls = (db: Queryable, carriers: readonly string[], limit: number): Promise<CallLookup[]> =>
  queryRows(db, {
    name: 'take-open-calls',
    text: `update call_lookup c set attempt = c.attempt + 1, due_at = now() + least(interval '5 minutes' * power(2, c.attempt), interval '1 hour')
     where (c.carrier, c.name) in (
       select carrier, name from call_lookup where due_at <= now() and carrier = any($1::text[])
       order by due_at limit $2 for update skip locked
     )
     returning c.carrier, c.name, c.notification_id as notification, c.ordinal`,
    values: [carriers, limit],
  })

/** After a restore: the end of a call that has been followed by another one since would make that call once more. */
export const dropCallLookups = (db: Queryable): Promise<void> => execute(db, 'delete from call_lookup')

export const endCallLookup = (db: Queryable, { carrier, name }: CallLookup): Promise<void> =>
  execute(db, 'delete from call_lookup where carrier = $1 and name = $2', [carrier, name])
