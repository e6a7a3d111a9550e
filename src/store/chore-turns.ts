import { matchesRow, type Queryable } from './postgres.js'

/**
 * Whether this node does a chore now: it is due, and no other node took it first. A node that dies at it leaves it undone until it is due
 * again.
 */
export const takeChoreTurn = (db: Queryable, chore: string, everyMs: number): Promise<boolean> =>
  matchesRow(
    db,
    `insert into chore_turn as t (chore, due_at) values ($1, now() + $2 * interval '1 millisecond')
     on conflict (chore) do update set due_at = excluded.due_at where t.due_at <= now()`,
    [chore, everyMs],
  )
