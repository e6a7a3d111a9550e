import { LOWEST_ID } from '../../domain/id.js'
import { type IdMonths, nameWithin, withinMonths } from '../months.js'
import { type Queryable, queryRow, queryRows, queryValues } from '../postgres.js'
import { UNSURE } from './holds.js'

/** Time never decides on a step that only a failure releases. `bulk`: a parameter or a constant. */
const waitingIn = (months: IdMonths | null, bulk = '$1'): string =>
  `d.state = 'waiting' and d.condition <> 'failed' and d.bulk = ${bulk} and ${withinMonths(months, 'd.notification_id')}`
const dueIn = (months: IdMonths | null, bulk?: string): string => `${waitingIn(months, bulk)} and d.due_at <= now()`

interface Bounds {
  limit: number
  /** Only notifications of these months are read (readOpenMonths); null: of all months. */
  months: IdMonths | null
}

/** Accounts that one statement looks at: each costs an index look-up. */
const ACCOUNTS = 100

export interface DueSteps {
  /** One for each step. */
  notifications: string[]
  /** From where the next call goes on. */
  next: string
}

/**
 * Locks the notifications of steps whose waiting time has ended, and skips rows that another node has locked. It never blocks on a lock, so
 * that no order of locks is needed. Steps of single sends come before those of batches. Where more are due than `limit`, accounts share:
 * one with many delays itself alone. `after`: the account that was looked at last.
 */
export async function lockDueSteps(
  db: Queryable,
  { limit, months = null, after = LOWEST_ID }: Pick<Bounds, 'limit'> & { months?: Bounds['months']; after?: string | undefined },
): Promise<DueSteps> {
  const counts = await countDue(db, { limit, months })
  const due: DueSteps = { notifications: [], next: after }
  for (const { bulk, count } of counts) {
    const room = limit - due.notifications.length
    if (count === 0 || room <= 0) continue
    if (count > room) {
      const { notifications, next } = await lockInTurns(db, bulk, { limit: room, months }, after)
      due.notifications.push(...notifications)
      due.next = next
    }
    // All that are due, or what the accounts that were looked at have left.
    const left = limit - due.notifications.length
    if (left > 0) due.notifications.push(...(await lockOldest(db, bulk, { limit: left, months }, due.notifications)))
  }
  return due
}

/** Counts the due steps of single sends, then those of batches, up to one more than `limit`; none while the database may be an older copy. The only statement while nothing is due. */
async function countDue(db: Queryable, { limit, months }: Bounds): Promise<{ bulk: boolean; count: number }[]> {
  const counted = (bulk: boolean): string =>
    `(select count(*)::int from (select from delivery d where ${dueIn(months, String(bulk))} order by d.due_at limit $1 + 1) s)`
  const row = await queryRow<{ single: number; batch: number }>(db, {
    name: nameWithin(months, 'count-due-steps'),
    text: `select ${counted(false)} as single, ${counted(true)} as batch where not exists (${UNSURE})`,
    values: [limit],
  })
  return [
    { bulk: false, count: row?.single ?? 0 },
    { bulk: true, count: row?.batch ?? 0 },
  ]
}

const lockOldest = (db: Queryable, bulk: boolean, { limit, months }: Bounds, but: readonly string[]): Promise<string[]> =>
  queryValues(db, {
    name: nameWithin(months, 'lock-due-steps'),
    text: `select n.id from delivery d join notification n on n.id = d.notification_id
           where ${dueIn(months)} and ${withinMonths(months, 'n.id')} and n.id <> all($3::uuid[]) order by d.due_at limit $2 for no key update of n skip locked`,
    values: [bulk, limit, but],
  })

/** An equal share for each of the next accounts that have due steps. */
async function lockInTurns(db: Queryable, bulk: boolean, { limit, months }: Bounds, after: string): Promise<DueSteps> {
  const most = Math.min(limit, ACCOUNTS)
  const [waiting, due] = [waitingIn(months), dueIn(months)]
  const rows = await queryRows<{ account: string; place: number; notification: string | null }>(db, {
    name: nameWithin(months, 'lock-due-steps-in-turns'),
    text: `
      with recursive accounts as (
        (select d.account_id, 1 as place from delivery d where ${waiting} and d.account_id > $3 order by d.account_id limit 1)
        union all
        select (select d.account_id from delivery d where ${waiting} and d.account_id > accounts.account_id order by d.account_id limit 1), place + 1
        from accounts where account_id is not null and place < $4
      ), senders as materialized (
        -- Not "exists": the planner would read all due steps to join them.
        select accounts.account_id from accounts cross join lateral (
          select from delivery d where ${due} and d.account_id = accounts.account_id order by d.due_at limit 1
        ) first
      ), taken as materialized (
        select t.account_id, t.id from senders s cross join lateral (
          select d.account_id, n.id from delivery d join notification n on n.id = d.notification_id
          where ${due} and ${withinMonths(months, 'n.id')} and d.account_id = s.account_id
          order by d.due_at limit greatest(1, $2 / (select count(*) from senders)) for no key update of n skip locked
        ) t limit $2
      )
      select w.account_id as account, w.place, t.id as notification from accounts w left join taken t using (account_id)
      where w.account_id is not null`,
    values: [bulk, limit, after, most],
  })
  const last = rows.find(({ place }) => place === most)
  return {
    notifications: rows.flatMap(({ notification }) => notification ?? []),
    next: last?.account ?? LOWEST_ID,
  }
}
