import { execute, type Queryable, queryValues, run, type Transaction } from '../postgres.js'

/** Leases of dead workers in one turn, each of a claim's messages at most: two thousand messages. */
const MOST_REAPED = 4

/**
 * One worker at a time claims, and waits for this lock. The leases that the one before has written are visible then: two at once would
 * claim the same messages.
 */
const TURN = 740_041
/** How long others wait for a node that vanished in its turn. */
const TURN_MS = 1_000

export const awaitTurn = (db: Transaction): Promise<void> =>
  execute(
    db,
    `set local lock_timeout = ${TURN_MS}; set local idle_in_transaction_session_timeout = ${TURN_MS}; select pg_advisory_xact_lock(${TURN})`,
  )

/**
 * Of the leases that count. One that is over does until it is reaped; after a minute it does not, because all that ended would be read for as
 * long as a transaction is open that could see it.
 */
export const COUNTS = "until > now() - interval '1 minute'"

/** What is under way, as pairs of a message and the attempts that had ended. */
export const UNDER_WAY = `
  select u.message, u.attempt from webhook_lease l cross join unnest(l.messages, l.attempts) as u(message, attempt) where l.${COUNTS}`

/** By the parameters of the owner and of the ids. Locked in one order, because a worker renews, shortens and ends leases at the same time. */
export const OWN_LEASES = (owner: string, ids: string): string =>
  `select id from webhook_lease where id = any(${ids}::bigint[]) and owner = ${owner} order by id for update`

/** Prolongs leases that have not expired, and returns them: the messages of an expired one may be another worker's. */
export const renewLeases = async (
  db: Queryable,
  owner: string,
  leases: readonly number[],
  leaseMs: number,
): Promise<Set<number>> =>
  new Set(
    await queryValues<number>(
      db,
      `with own as materialized (${OWN_LEASES('$1', '$2')})
       update webhook_lease l set until = now() + $3 * interval '1 millisecond' from own
       where l.id = own.id and l.id = any($2::bigint[]) and l.until > now() returning l.id`,
      [owner, leases, leaseMs],
    ),
  )

export interface LeasedMessage {
  id: string
  lease: number
}

/** Takes messages out of their leases, by lists of leases and messages. */
const SHORTENED = `
  with given as (
    select lease, array_agg(message) as messages from unnest($2::bigint[], $3::uuid[]) as g(lease, message) group by lease
  ), own as materialized (${OWN_LEASES('$1', '$2')}), shortened as (
    update webhook_lease l set (messages, attempts) = (
      select coalesce(array_agg(u.message), '{}'), coalesce(array_agg(u.attempt), '{}')
      from unnest(l.messages, l.attempts) as u(message, attempt) where u.message <> all(g.messages)
    )
    from given g join own on own.id = g.lease where l.id = g.lease and l.id = any($2::bigint[])
  )`

const valuesOf = (owner: string, messages: readonly LeasedMessage[]): unknown[] => [
  owner,
  messages.map(({ lease }) => lease),
  messages.map(({ id }) => id),
]

/** Gives back claimed messages that were not attempted: whoever claims next gets them. */
export const releaseMessages = (db: Queryable, owner: string, messages: readonly LeasedMessage[]): Promise<void> =>
  execute(db, `${SHORTENED} select`, valuesOf(owner, messages))

/** Leaves messages to a lease of their own, which nobody prolongs: their attempts will count as interrupted. */
export const abandonMessages = (db: Queryable, owner: string, messages: readonly LeasedMessage[]): Promise<void> =>
  execute(
    db,
    `${SHORTENED}
     insert into webhook_lease (owner, until, endpoints, messages, attempts)
     select l.owner, l.until, l.endpoints, array[u.message], array[u.attempt]
     from webhook_lease l cross join unnest(l.messages, l.attempts) as u(message, attempt) join given g on g.lease = l.id
     where l.id = any($2::bigint[]) and l.owner = $1 and u.message = any(g.messages)`,
    valuesOf(owner, messages),
  )

/** Removes leases of which every message has its outcome. */
export const endLeases = (db: Queryable, owner: string, leases: readonly number[]): Promise<void> =>
  execute(db, `delete from webhook_lease where id = any(array(${OWN_LEASES('$1', '$2')}))`, [owner, leases])

/**
 * Some leases of dead workers, and the time of the database. `since`: those that ended earlier are not looked for; null: all are. Nobody else
 * waits for this search, which may have to pass all that ended while a transaction was open that could see it.
 */
export async function findExpiredLeases(db: Queryable, since: Date | null): Promise<{ at: Date; leases: number[] }> {
  const { rows } = await run<{ at: Date; leases: number[] }>(
    db,
    `select now() as at, coalesce(json_agg(id), '[]') as leases
     from (select id from webhook_lease where until < now() and until >= $1 order by until limit ${MOST_REAPED}) e`,
    [since ?? '-infinity'],
  )
  return rows[0]!
}

/**
 * Ends leases of dead workers. Of the attempts that were under way nobody knows the outcome: they count, the log says so, and the messages
 * are due again. A duplicate under the same id is harmless.
 */
export async function endExpiredLeases(db: Transaction, leases: readonly number[], reason: string): Promise<number> {
  await awaitTurn(db)
  const { rowCount } = await run(
    db,
    `with expired as (
       delete from webhook_lease where id = any(array(
         select id from webhook_lease where id = any($2::bigint[]) and until < now() order by id for update skip locked
       )) returning messages, attempts
     ), interrupted as (
       select m.id from expired x cross join unnest(x.messages, x.attempts) as u(message, attempt) join webhook_message m on m.id = u.message
       where m.attempt = u.attempt and m.state = 'queued' and m.id = any(array(select unnest(messages) from expired))
         -- After a minute without a worker a claim may have come first.
         and (m.id, m.attempt) not in (
           select v.message, v.attempt from webhook_lease l cross join unnest(l.messages, l.attempts) as v(message, attempt) where l.until >= now()
         )
       for no key update of m skip locked
     ), freed as (
       update webhook_message m set attempt = m.attempt + 1, due_at = now()
       from interrupted i where m.id = i.id and m.id = any(array(select id from interrupted))
       returning m.id, m.endpoint_id, m.attempt
     )
     insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, error)
     select f.endpoint_id, f.id, f.attempt, w.url, w.payload_version, now(), 0, $1 from freed f join webhook_endpoint w on w.id = f.endpoint_id`,
    [reason, leases],
  )
  return rowCount ?? 0
}
