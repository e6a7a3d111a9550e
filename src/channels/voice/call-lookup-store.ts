import { type Queryable, run } from '../../store/postgres.js'

/** A call that a carrier accepted, until its outcome and its recording are known. */
export interface CallLookup {
  provider: string
  /** The carrier's name for the call. */
  name: string
  notification: string
  ordinal: number
}

export async function planCallLookups(db: Queryable, calls: readonly CallLookup[]): Promise<void> {
  await run(
    db,
    `insert into call_lookup (provider, name, notification_id, ordinal)
     select provider, name, notification, ordinal from jsonb_to_recordset($1::jsonb)
       as c(provider text, name text, notification uuid, ordinal smallint)
     on conflict do nothing`,
    [JSON.stringify(calls)],
  )
}

/**
 * Deletes the lookups that are no longer needed: another call followed, the outcome and (of an answered call that was recorded) the
 * recording are known, or a day has passed.
 */
export async function dropKnownCalls(db: Queryable, recording: readonly string[], limit: number): Promise<void> {
  await run(
    db,
    `delete from call_lookup where (provider, name) in (
       select c.provider, c.name from call_lookup c
       left join delivery d on d.notification_id = c.notification_id and d.channel = 'voice'
       where c.due_at <= now() and (
         d.notification_id is null or d.ordinal > c.ordinal or c.created_at < now() - interval '1 day'
         or (d.delivered_at is null and d.failure is not null and d.failure <> 'machine')
         or ((d.delivered_at is not null or d.failure = 'machine') and (
           c.provider <> all($1::text[])
           or exists (select from recording r where r.notification_id = c.notification_id and r.ordinal = c.ordinal)
         ))
       )
       limit $2 for update of c skip locked
     )`,
    [recording, limit],
  )
}

/** Claims the lookups that are due. Each is postponed at once, with backoff, because this process may die before the answer. */
export async function takeOpenCalls(db: Queryable, providers: readonly string[], limit: number): Promise<CallLookup[]> {
  const { rows } = await run<CallLookup>(
    db,
    `update call_lookup c set attempt = c.attempt + 1, due_at = now() + least(interval '5 minutes' * power(2, c.attempt), interval '1 hour')
     where (c.provider, c.name) in (
       select provider, name from call_lookup where due_at <= now() and provider = any($1::text[])
       order by due_at limit $2 for update skip locked
     )
     returning c.provider, c.name, c.notification_id as notification, c.ordinal`,
    [providers, limit],
  )
  return rows
}

export async function endCallLookup(db: Queryable, { provider, name }: CallLookup): Promise<void> {
  await run(db, 'delete from call_lookup where provider = $1 and name = $2', [provider, name])
}
