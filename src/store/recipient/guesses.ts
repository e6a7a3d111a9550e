import type { LinkTarget } from '../../domain/recipient/link.js'
import { execute, type Queryable, queryRow, queryValue } from '../postgres.js'

/** The limit of wrong guesses at short codes, counted over all nodes. */
export interface GuessLimit {
  key: string
  /** Wrong guesses within the window that lock the key. */
  wrong: number
  windowMs: number
  lockMs: number
}

export interface Guarded<T> {
  target: T | null
  /** While the lock lasts, the client must not learn whether the code exists. */
  lockedMs: number
}

export interface GuessKeys {
  /** The client's keys, which its own wrong guesses lock. */
  own: readonly string[]
  /** The key of all clients. Its lock affects only clients with a wrong guess of their own within the last hour. */
  shared: string
}

/** How long a client is locked: $1 are its own keys, $2 is the shared one. */
const LOCKED_MS = `coalesce((select extract(epoch from max(g.locked_until) - now()) * 1000 from guess_window g
                       where g.key = any($1::text[] || $2::text) and g.locked_until > now()
                         and (g.key <> $2 or exists (select from guess_window o
                                                     where o.key = any($1::text[]) and o.started_at > now() - interval '1 hour'))),
                      0)::int`

export async function findGuardedLink(db: Queryable, code: string, { own, shared }: GuessKeys): Promise<Guarded<LinkTarget>> {
  const link = await queryRow<Guarded<LinkTarget>>(db, {
    name: 'find-guarded-link',
    text: `select case when l.code is not null then jsonb_build_object('notification', l.notification_id, 'channel', l.channel) end as target,
             ${LOCKED_MS} as "lockedMs"
           from (select) nothing left join link l on l.code = $3`,
    values: [own, shared, code],
  })
  return link!
}

/** For codes that no table has. */
export const readGuessLock = async (db: Queryable, { own, shared }: GuessKeys): Promise<number> =>
  (await queryValue<number>(db, { name: 'read-guess-lock', text: `select ${LOCKED_MS}`, values: [own, shared] }))!

/** Counts a wrong guess. Returns how long the key is locked. */
export async function countWrongGuess(db: Queryable, { key, wrong, windowMs, lockMs }: GuessLimit): Promise<number> {
  const lockedMs = await queryValue<number>(db, {
    name: 'count-wrong-guess',
    text: `with fresh as (select now() - $3 * interval '1 millisecond' as start)
           insert into guess_window as g (key, started_at, wrong) values ($1, now(), 1)
           on conflict (key) do update set
             started_at = case when g.started_at > (select start from fresh) then g.started_at else now() end,
             wrong = case when g.started_at > (select start from fresh) then g.wrong + 1 else 1 end,
             locked_until = case when g.started_at > (select start from fresh) and g.wrong + 1 >= $2
               then now() + $4 * interval '1 millisecond' else g.locked_until end
           returning coalesce(extract(epoch from locked_until - now()) * 1000, 0)::int`,
    values: [key, wrong, windowMs, lockMs],
  })
  return Math.max(0, lockedMs!)
}

/** How long the longest lock of these keys lasts. */
export const readLock = async (db: Queryable, keys: readonly string[]): Promise<number> =>
  (await queryValue<number>(
    db,
    'select coalesce(max(extract(epoch from locked_until - now())) * 1000, 0)::int from guess_window where key = any($1::text[]) and locked_until > now()',
    [keys],
  ))!

export const deleteStaleGuesses = (db: Queryable): Promise<void> =>
  execute(
    db,
    "delete from guess_window where started_at < now() - interval '1 hour' and coalesce(locked_until, started_at) < now()",
  )
