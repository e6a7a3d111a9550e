import { execute, type Queryable, queryValues, run, type Transaction } from '../postgres.js'

/** Leases of dead workers, each of a claim's messages at most. */
const MOST_REAPED = 20

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
 * What is under way, as pairs of a message and the attempts that had ended. An expired lease counts until it is reaped; after a minute it
 * does not, because all that ended would be read here for as long as a transaction is open that could see it.
 */
export const UNDER_WAY = `
  select u.message, u.attempt from webhook_lease l cross join unnest(l.messages, l.attempts) as u(message, attempt)
  where l.until > now() - interval '1 minute'`

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
      `update webhook_lease set until = now() + $3 * interval '1 millisecond' where id = any($2::bigint[]) and owner = $1 and until > now()
       returning id`,
      [owner, leases, leaseMs],
    ),
  )

export interface LeasedMessage {
  id: string
  lease: number
}

/** Gives up claimed messages that were not attempted: whoever claims next gets them. */
export const releaseMessages = (db: Queryable, owner: string, messages: readonly LeasedMessage[]): Promise<void> =>
  execute(
    db,
    `with given as (
       select lease, array_agg(message) as messages from unnest($2::bigint[], $3::uuid[]) as g(lease, message) group by lease
     )
     update webhook_lease l set (messages, attempts) = (
       select coalesce(array_agg(u.message), '{}'), coalesce(array_agg(u.attempt), '{}')
       from unnest(l.messages, l.attempts) as u(message, attempt) where u.message <> all(g.messages)
     )
     from given g where l.id = g.lease and l.owner = $1`,
    [owner, messages.map(({ lease }) => lease), messages.map(({ id }) => id)],
  )

/** Removes leases of which every message has its outcome. */
export const endLeases = (db: Queryable, owner: string, leases: readonly number[]): Promise<void> =>
  execute(db, 'delete from webhook_lease where id = any($2::bigint[]) and owner = $1', [owner, leases])

/**
 * Ends the leases of dead workers. Of the attempts that were under way nobody knows the outcome: they count, the log says so, and the messages
 * are due again. A duplicate under the same id is harmless.
 */
export async function reapLeases(db: Transaction, reason: string): Promise<number> {
  await awaitTurn(db)
  const { rowCount } = await run(
    db,
    `with expired as (
       delete from webhook_lease where id = any(array(
         select id from webhook_lease where until < now() order by until limit ${MOST_REAPED} for update skip locked
       )) returning id, messages, attempts
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
    [reason],
  )
  return rowCount ?? 0
}
