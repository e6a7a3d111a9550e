import type { Channel } from '../domain/channel.js'
import type { LinkTarget } from '../domain/link.js'
import { type Queryable, run } from './postgres.js'

/** Guesses at short codes, counted for all nodes by the database's clock. */
export interface GuessLimit {
  key: string
  /** Wrong ones within the window that lock. */
  wrong: number
  windowMs: number
  lockMs: number
}

export interface GuardedLink {
  target: LinkTarget | null
  /** While this lasts, the asker does not learn whether the code exists. */
  lockedMs: number
}

/** Whom a guess is counted for. */
export interface GuessKeys {
  /** Locked by their own wrong guesses. */
  own: readonly string[]
  /** Locked by everybody's: shut for those who guessed wrong themselves of late, open for all others. */
  shared: string
}

interface GuardedRow {
  notification: string | null
  channel: Channel | null
  locked_ms: number
}

export async function findGuardedLink(db: Queryable, code: string, keys: GuessKeys): Promise<GuardedLink> {
  const { rows } = await run<GuardedRow>(db, {
    name: 'find-guarded-link',
    text: `select l.notification_id as notification, l.channel,
             coalesce((select extract(epoch from max(g.locked_until) - now()) * 1000 from guess_window g
                       where g.key = any($2::text[] || $3::text) and g.locked_until > now()
                         and (g.key <> $3 or exists (select from guess_window o
                                                     where o.key = any($2::text[]) and o.started_at > now() - interval '1 hour'))),
                      0)::int as locked_ms
           from (select) nothing left join link l on l.code = $1`,
    values: [code, keys.own, keys.shared],
  })
  const { notification, channel, locked_ms: lockedMs } = rows[0]!
  return { target: notification === null ? null : { notification, channel: channel! }, lockedMs }
}

/** Counts a wrong guess; returns for how long the key is locked now. */
export async function countWrongGuess(db: Queryable, { key, wrong, windowMs, lockMs }: GuessLimit): Promise<number> {
  const { rows } = await run<{ locked_ms: number }>(db, {
    name: 'count-wrong-guess',
    text: `with fresh as (select now() - $3 * interval '1 millisecond' as start)
           insert into guess_window as g (key, started_at, wrong) values ($1, now(), 1)
           on conflict (key) do update set
             started_at = case when g.started_at > (select start from fresh) then g.started_at else now() end,
             wrong = case when g.started_at > (select start from fresh) then g.wrong + 1 else 1 end,
             locked_until = case when g.started_at > (select start from fresh) and g.wrong + 1 >= $2
               then now() + $4 * interval '1 millisecond' else g.locked_until end
           returning coalesce(extract(epoch from locked_until - now()) * 1000, 0)::int as locked_ms`,
    values: [key, wrong, windowMs, lockMs],
  })
  return Math.max(0, rows[0]!.locked_ms)
}

export async function deleteStaleGuesses(db: Queryable): Promise<void> {
  await run(
    db,
    "delete from guess_window where started_at < now() - interval '1 hour' and coalesce(locked_until, started_at) < now()",
  )
}
