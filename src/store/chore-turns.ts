import { execute, matchesRow, type Queryable } from './postgres.js'

/**
 * Whether this node does a chore now: it is due, and no other node took it first. A node that dies at it leaves it undone until it is due
 * again. A turn that is further away than any node plans was taken before the database's clock stepped back: it would stay away for as long.
 * By more than a period or a minute, because two nodes that ask at once have clocks of their own transactions.
 */
export const takeChoreTurn = (db: Queryable, chore: string, everyMs: number): Promise<boolean> =>
  matchesRow(
    db,
    `insert into chore_turn as t (chore, due_at) values ($1, now() + $2 * interval '1 millisecond')
     on conflict (chore) do update set due_at = excluded.due_at where t.due_at <= now()
       or t.due_at > excluded.due_at + greatest($2 * interval '1 millisecond', interval '1 minute')`,
    [chore, everyMs],
  )

/** The node that does the chore is still at it: no other node takes it before another period is over. */
export const keepChoreTurn = (db: Queryable, chore: string, everyMs: number): Promise<void> =>
  execute(db, "update chore_turn set due_at = now() + $2 * interval '1 millisecond' where chore = $1", [chore, everyMs])
