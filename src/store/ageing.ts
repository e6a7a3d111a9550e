import type { Channel } from '../domain/channel.js'
import { LOWEST_ID, lowestId } from '../domain/id.js'
import type { Term } from '../domain/retention.js'
import type { Scope } from '../domain/scope.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from './months.js'
import { execute, plannedOnce, type Queryable, queryValue, queryValues, run, type Transaction } from './postgres.js'

/** A kind of data of the notifications of a scope. */
export type Aged = Scope & Pick<Term, 'kind'>

const OF_AGED = 'account_id = $1 and mode = $2 and kind = $3'
const valuesOf = ({ account, mode, kind }: Aged): string[] => [account, mode, kind]

/** The next notifications of a scope, oldest first, whose term for this kind of data has ended and that are past the saved progress. */
export const listAged = (db: Queryable, aged: Aged, below: string, limit: number): Promise<string[]> =>
  queryValues(
    db,
    `select id from notification where account_id = $1 and mode = $2 and id < $4
       and id > coalesce((select done_to from retention_progress where ${OF_AGED}), '${LOWEST_ID}')
     order by id limit $5`,
    [...valuesOf(aged), below, limit],
  )

/** `postponed`: held, or still being delivered. They are looked at again. */
export async function saveProgress(db: Queryable, aged: Aged, doneTo: string, postponed: readonly string[]): Promise<void> {
  await execute(
    db,
    `insert into retention_progress as p (account_id, mode, kind, done_to) values ($1, $2, $3, $4)
     on conflict (account_id, mode, kind) do update set done_to = greatest(p.done_to, excluded.done_to)`,
    [...valuesOf(aged), doneTo],
  )
  await execute(
    db,
    `insert into retention_postponed (account_id, mode, kind, notification_id) select $1, $2, $3, unnest($4::uuid[])
     on conflict do nothing`,
    [...valuesOf(aged), postponed],
  )
}

/**
 * Data of this kind are about to be written for notifications whose term for it may be over: somebody opens an old link, the post sends an
 * image late. The next run erases them. In the transaction that writes them: the lock makes it wait for a run that is erasing just now.
 */
export const noteLateData = (db: Transaction, kind: Term['kind'], notifications: readonly string[]): Promise<void> => {
  const months = recentMonthsOfIds(notifications)
  return execute(db, {
    name: nameWithin(months, 'note-late-data'),
    text: `with asked as materialized (
       select id, account_id, mode from notification where id = any($2::uuid[]) and ${withinMonths(months, 'id')} order by id for share
     )
     insert into retention_postponed (account_id, mode, kind, notification_id)
     select a.account_id, a.mode, p.kind, a.id from asked a
     join retention_progress p on p.account_id = a.account_id and p.mode = a.mode and p.kind = $1 and p.done_to >= a.id
     on conflict do nothing`,
    values: [kind, notifications],
  })
}

/** The time at which a run starts, by the database's clock, which also dates the attempts to erase. */
export const readStart = async (db: Queryable): Promise<Date> => (await queryValue<Date>(db, 'select clock_timestamp()'))!

/** Notifications of which the erasure was postponed, those tried longest ago first, and none that was tried after `since`. */
export const listPostponed = (db: Queryable, aged: Aged, since: Date, limit: number): Promise<string[]> =>
  queryValues(
    db,
    `select notification_id from retention_postponed where ${OF_AGED} and tried_at < $4 order by tried_at, notification_id limit $5`,
    [...valuesOf(aged), since, limit],
  )

export async function settlePostponed(
  db: Queryable,
  aged: Aged,
  tried: readonly string[],
  done: readonly string[],
): Promise<void> {
  await execute(db, `delete from retention_postponed where ${OF_AGED} and notification_id = any($4::uuid[])`, [
    ...valuesOf(aged),
    done,
  ])
  await execute(db, `update retention_postponed set tried_at = now() where ${OF_AGED} and notification_id = any($4::uuid[])`, [
    ...valuesOf(aged),
    tried,
  ])
}

const OF_REFERENCES = "account_id = $1 and mode = 'live' and kind = 'references'"

/** Up to when the carriers' references of an account, in both modes, were looked at; null: never. */
export const readReferencesProgress = (db: Queryable, { account }: Pick<Scope, 'account'>): Promise<Date | null> =>
  queryValue(
    db,
    `select to_timestamp(('x' || left(replace(done_to::text, '-', ''), 12))::bit(48)::bigint / 1000.0) from retention_progress where ${OF_REFERENCES}`,
    [account],
  )

export const saveReferencesProgress = (db: Queryable, { account }: Pick<Scope, 'account'>, until: Date): Promise<void> =>
  execute(
    db,
    `insert into retention_progress as p (account_id, mode, kind, done_to) values ($1, 'live', 'references', $2)
     on conflict (account_id, mode, kind) do update set done_to = greatest(p.done_to, excluded.done_to)`,
    [account, lowestId(until.getTime())],
  )

/** When the first reference of these channels from a moment on was stored; null: there is none. */
export const findReferenceSince = (db: Queryable, channels: readonly Channel[], from: Date): Promise<Date | null> =>
  queryValue<Date | null>(
    db,
    plannedOnce({
      text: `select min(first.at) from unnest($1::text[]) as c(channel) cross join lateral (
               select created_at as at from carrier_reference r where r.channel = c.channel and r.created_at >= $2 order by created_at limit 1
             ) first`,
      values: [channels, from],
    }),
  )

/**
 * Deletes a batch of the carriers' references of an account, in both modes, that were stored in a span of time. It reads those of all
 * accounts in these channels: their account is known by the notification alone, which is looked up for each. Those of a notification under
 * legal hold, or of a delivery that a report may still settle, stay as long as references stay where an account sets no term.
 */
export async function pruneReferences(
  db: Queryable,
  { account }: Pick<Scope, 'account'>,
  { from, to, channels }: { from: Date; to: Date; channels: readonly Channel[] },
  limit: number,
): Promise<number> {
  const { rowCount } = await run(
    db,
    plannedOnce({
      text: `delete from carrier_reference where ctid = any(array(
         select r.ctid from carrier_reference r where r.channel = any($5::text[]) and r.created_at >= $2 and r.created_at < $3
           and exists (select from notification n where n.id = r.notification_id and n.account_id = $1 and n.mode in ('live', 'test') offset 0)
           and not exists (select from legal_hold h where h.notification_id = r.notification_id)
           and not exists (select from delivery d where d.notification_id = r.notification_id and d.channel = r.channel
             and d.state in ('waiting', 'queued', 'sending', 'uncertain', 'unresolved') offset 0) limit $4))`,
      values: [account, from, to, limit, channels],
    }),
  )
  return rowCount ?? 0
}
