import { deleteInBatches, type Queryable, run } from './postgres.js'

/** The tries to answer the question of one notification, counted by all nodes together. */
export interface TryLimit {
  tries: number
  /** How long the first lock lasts. */
  lockMs: number
  /** Each lock lasts twice as long as the one before, up to this. Tries are forgotten no sooner: pacing them gains nothing. */
  longestLockMs: number
}

export interface TakenTry {
  /** Whether the reply may be looked at. */
  taken: boolean
  tries: number
  /** From this moment; the last try is taken with the lock already on. */
  lockedMs: number
}

/**
 * Takes one of the tries before the reply is looked at, so that replies sent at once cannot outrun the count, and a crash
 * counts as a wrong one. The last try locks; a correct reply unlocks again.
 */
export async function takeTry(db: Queryable, notification: string, limit: TryLimit): Promise<TakenTry> {
  const { rows } = await run<{ tries: number; locked_ms: number }>(db, {
    name: 'take-try',
    text: `with rule as (select $2::int as most, $3 * interval '1 millisecond' as lock, $4 * interval '1 millisecond' as longest)
           insert into visit_count as v (notification_id, tries, tried_at) values ($1, 1, now())
           on conflict (notification_id) do update set
             tries = case when v.locked_until is not null or v.tried_at <= now() - (select longest from rule) then 1 else v.tries + 1 end,
             tried_at = now(),
             locks = v.locks + case when v.locked_until is null and v.tried_at > now() - (select longest from rule)
               and v.tries + 1 >= (select most from rule) then 1 else 0 end,
             locked_until = case when v.locked_until is null and v.tried_at > now() - (select longest from rule)
               and v.tries + 1 >= (select most from rule)
               then now() + least((select longest from rule), (select lock from rule) * (2 ^ least(v.locks, 16))) end
           where v.locked_until is null or v.locked_until <= now()
           returning tries, coalesce(extract(epoch from locked_until - now()) * 1000, 0)::float8 as locked_ms`,
    values: [notification, limit.tries, limit.lockMs, limit.longestLockMs],
  })
  const row = rows[0]
  if (row !== undefined) return { taken: true, tries: row.tries, lockedMs: row.locked_ms }
  return { taken: false, tries: limit.tries, lockedMs: await findLock(db, notification) }
}

/** How long replies to this notification are still locked. */
export async function findLock(db: Queryable, notification: string): Promise<number> {
  const { rows } = await run<{ locked_ms: number }>(
    db,
    `select coalesce(extract(epoch from locked_until - now()) * 1000, 0)::float8 as locked_ms
     from visit_count where notification_id = $1`,
    [notification],
  )
  return Math.max(0, rows[0]?.locked_ms ?? 0)
}

/** After a correct reply. */
export async function forgetTries(db: Queryable, notification: string): Promise<void> {
  await run(db, 'update visit_count set tries = 0, locks = 0, locked_until = null where notification_id = $1', [notification])
}

/** Were a count deleted sooner, a question could be guessed at anew. */
export async function deleteLostCounts(db: Queryable): Promise<void> {
  await deleteInBatches(db, 'visit_count', 'notification_id < (select id from notification order by id limit 1)')
}
