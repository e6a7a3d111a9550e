import { deleteInBatches, execute, type Queryable, queryRow, queryValue } from '../postgres.js'

/** The attempts to answer the question of one notification, counted by all nodes together. */
export interface ReplyLimit {
  attempts: number
  /** The duration of the first lock. */
  lockMs: number
  /**
   * Each lock lasts twice as long as the one before, up to this. Attempts are counted for as long, so that slow guessing gains
   * nothing.
   */
  maxLockMs: number
}

export interface AttemptGrant {
  /** Whether the reply may be compared. */
  allowed: boolean
  attempts: number
  /** The last allowed attempt already has the lock. */
  lockedMs: number
}

/**
 * Counts an attempt before the reply is compared, so that concurrent replies cannot exceed the limit; a crash counts as a wrong
 * reply. The last attempt locks, and a correct reply unlocks.
 */
export async function takeAttempt(db: Queryable, notification: string, limit: ReplyLimit): Promise<AttemptGrant> {
  const taken = await queryRow<Omit<AttemptGrant, 'allowed'>>(db, {
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
           returning tries as attempts, coalesce(extract(epoch from locked_until - now()) * 1000, 0)::float8 as "lockedMs"`,
    values: [notification, limit.attempts, limit.lockMs, limit.maxLockMs],
  })
  if (taken !== null) return { allowed: true, ...taken }
  return { allowed: false, attempts: limit.attempts, lockedMs: await findLock(db, notification) }
}

/** The remaining lock of replies to this notification, in milliseconds. */
export async function findLock(db: Queryable, notification: string): Promise<number> {
  const lockedMs = await queryValue<number>(
    db,
    'select extract(epoch from locked_until - now())::float8 * 1000 from visit_count where notification_id = $1',
    [notification],
  )
  return Math.max(0, lockedMs ?? 0)
}

/** Called after a correct reply. */
export const resetAttempts = (db: Queryable, notification: string): Promise<void> =>
  execute(db, 'update visit_count set tries = 0, locks = 0, locked_until = null where notification_id = $1', [notification])

/** A count lives as long as its notification: deleting it earlier would allow as many guesses again. */
export const deleteLostCounts = (db: Queryable): Promise<void> =>
  deleteInBatches(db, 'visit_count', 'notification_id < (select id from notification order by id limit 1)', 'notification_id')
