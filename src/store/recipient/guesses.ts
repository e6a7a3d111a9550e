import type { LinkTarget } from '../../domain/link.js'
import { execute, type Queryable, queryRow, queryValue } from '../postgres.js'

/** The limit of wrong guesses at short codes, counted over all nodes. */
export interface GuessLimit {
  key: string
  /** Wrong guesses within the window that lock the key. */
  wrong: number
  windowMs: number
  lockMs: number
}

export interface GuardedLink {
  target: LinkTarget | null
  /** While the lock lasts, the client must not learn whether the code exists. */
  lockedMs: number
}

export interface GuessKeys {
  /** The client's keys, which its own wrong guesses lock. */
  own: readonly string[]
  /** The key of all clients. Its lock affects only clients with a wrong guess of their own within the last hour. */
  shared: string
}

export async function findGuardedLink(db: Queryable, code: string, keys: GuessKeys): Promise<GuardedLink> {
  const link = await queryRow<GuardedLink>(db, {
    name: 'find-guarded-link',
    text: `select case when l.code is not null then jsonb_build_object('notification', l.notification_id, 'channel', l.channel) end as target,
             coalesce((select extract(epoch from max(g.locked_until) - now()) * 1000 from guess_window g
                       where g.key = any($2::text[] || $3::text) and g.locked_until > now()
                         and (g.key <> $3 or exists (select from guess_window o
                                                     where o.key = any($2::text[]) and o.started_at > now() - interval '1 hour'))),
                      0)::int as "lockedMs"
           from (select) nothing left join link l on l.code = $1`,
    values: [code, keys.own, keys.shared],
  })
  return link!
}

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

export const deleteStaleGuesses = (db: Queryable): Promise<void> =>
  execute(
    db,
    "delete from guess_window where started_at < now() - interval '1 hour' and coalesce(locked_until, started_at) < now()",
  )
