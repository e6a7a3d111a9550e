import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import type { PayloadVersion } from '../../domain/webhook.js'
import { type Columns, column, columnValues, selectColumns } from '../columns.js'
import { execute, type Queryable, queryRows, queryValue, queryValues, run } from '../postgres.js'
import { BEGINNING, frontOf } from '../queue-front.js'
import type { AttemptResult } from './attempts.js'

/** A message of the outbox, claimed under a lease. */
export interface WebhookClaim extends Scope {
  id: string
  endpoint: string
  notification: string
  channel: Channel
  /** 0: a test event. */
  seq: number
  attempt: number
  /** Including this attempt. A replay starts the count again. */
  attemptsSinceQueued: number
  ageMs: number
  createdAt: Date
  url: string
  version: PayloadVersion
  /** Encrypted; the current one first. */
  secrets: Buffer[]
  /** Whether the endpoint's last report was a failure. */
  endpointFailing: boolean
}

export interface ClaimQuery {
  owner: string
  leaseMs: number
  limit: number
  /** The capacity for endpoints that this worker does not know yet. */
  capacity: number
  /** The messages that this worker holds and may hold, by endpoint. */
  endpoints: ReadonlyMap<string, { held: number; capacity: number }>
  /** The limit of held messages per scope, so that an account with many slow endpoints leaves capacity for the others. */
  perScope: number
  /** The messages that this worker holds, by scope. */
  scopes: ReadonlyMap<string, number>
  /** Consecutive failures after which an endpoint gets one message at a time. */
  failuresToPause: number
  /** Messages that became due earlier are not looked at (findFront), but for endpoints that were paused since; without it, all are. */
  from?: Date
}

/** Of an endpoint that works again. */
const MOST_MADE_DUE = 5_000

/** A message waits for this many attempts of an earlier message of its notification and channel, then overtakes it. */
const ORDERED_ATTEMPTS = 3

/**
 * The endpoints to look at, each with the time of its first message: those with messages that become due at a time or
 * later; and those that fail or were paused since, because their messages may be older. They are found in the order of the queue's index: ordered
 * by endpoint_id alone, PostgreSQL would choose another index and scan all messages ever sent.
 */
const endpointsFrom = (from: string, failuresToPause: string): string => `
  waiting as (
    (select endpoint_id, due_at from webhook_message where state = 'queued' and due_at >= ${from} order by endpoint_id, due_at, position limit 1)
    union all
    select next.endpoint_id, next.due_at from waiting cross join lateral (
      select m.endpoint_id, m.due_at from webhook_message m where m.state = 'queued' and m.endpoint_id > waiting.endpoint_id and m.due_at >= ${from}
      order by m.endpoint_id, m.due_at, m.position limit 1
    ) next
  ), looked_at as (
    select endpoint_id, min(due_at) as since from (
      select endpoint_id, due_at from waiting
      union all
      select w.id, first.due_at from webhook_endpoint w cross join lateral (
        select m.due_at from webhook_message m where m.endpoint_id = w.id and m.state = 'queued' order by m.due_at, m.position limit 1
      ) first
      where w.paused_until >= ${from} or w.failures > 0 and w.failures >= ${failuresToPause}
    ) e group by endpoint_id
  )`

const MAY_BE_CALLED = 'w.url is not null and w.disabled_at is null and (w.paused_until is null or w.paused_until <= now())'

/**
 * The time from which on claims have to look: the messages of endpoints that work are due then or later, and so are those to come. An
 * endpoint that fails may have messages of days ago, and does not hold the front back.
 */
export async function findFront(db: Queryable, failuresToPause: number, from: Date | null): Promise<Date> {
  const front = await queryValue<Date>(db, {
    name: 'find-webhook-front',
    text: `
      with recursive ${endpointsFrom('$2::timestamptz', '$1')}
      select ${frontOf('min(looked_at.since)')} from looked_at join webhook_endpoint w on w.id = looked_at.endpoint_id
      where ${MAY_BE_CALLED} and w.failures < $1`,
    values: [failuresToPause, from ?? BEGINNING],
  })
  return front!
}

/**
 * Claims due messages. Endpoints are served in rotation, and each endpoint and each scope has a limit, so that a slow one
 * delays only itself. A message waits for the earlier ones of its notification and channel that are being sent, are due or are in
 * their first attempts.
 */
export async function claimMessages(db: Queryable, query: ClaimQuery): Promise<WebhookClaim[]> {
  // The result is two JSON texts, because hundreds of rows take several times as long to read. Each endpoint is returned once.
  const { rows } = await run<{ messages: ClaimedMessage[] | null; endpoints: ClaimedEndpoint[] | null }>(db, {
    name: 'claim-webhooks',
    text: `
      with recursive ${endpointsFrom('$9::timestamptz', '$5')}, ready as (
        select w.id, looked_at.since, a.scope, $7 - coalesce(s.held, 0) as scope_capacity,
          case when w.failures >= $5 then 1 else coalesce(h.capacity, $4) end - coalesce(h.held, 0) as capacity
        from looked_at join webhook_endpoint w on w.id = looked_at.endpoint_id
        left join json_to_recordset($6) as h(id uuid, held int, capacity int) on h.id = w.id
        cross join lateral (select w.account_id || ' ' || w.mode as scope) a
        left join json_to_recordset($8) as s(scope text, held int) on s.scope = a.scope
        -- An endpoint of which nothing is due takes no place and no share.
        where ${MAY_BE_CALLED} and looked_at.since <= now()
      ), offered as (
        select p.id, r.scope, r.scope_capacity, row_number() over (partition by r.id order by p.due_at, p.position) as rank
        from (
          select *, count(*) over () as endpoints from (
            select * from (select *, row_number() over (partition by scope order by random()) as place from ready where capacity > 0) of_scope
            where place <= scope_capacity order by random() limit 200
          ) any_order
        ) r
        cross join lateral (
          select m.id, m.due_at, m.position from webhook_message m
          where m.endpoint_id = r.id and m.state = 'queued' and m.due_at <= now() and m.due_at >= r.since
            and not exists (
              select from webhook_message e
              where e.endpoint_id = m.endpoint_id and e.notification_id = m.notification_id and e.channel = m.channel and e.event_seq < m.event_seq
                and e.state in ('queued', 'sending')
                and (e.state = 'sending' or e.due_at <= now() or e.attempt - e.earlier_attempts < ${ORDERED_ATTEMPTS})
              -- A look-up for each message: joined, and without statistics, the messages of an endpoint would be compared one by one.
              offset 0
            )
          -- Twice the even share: what is offered beyond it is rarely picked, and ten endpoints would offer ten claims' worth.
          order by m.due_at, m.position limit least(r.capacity, ceil(2.0 * $3 / r.endpoints))
        ) p
      ), picked as (
        select id from (select id, rank, scope_capacity, row_number() over (partition by scope order by rank) as scope_rank from offered) o
        where scope_rank <= scope_capacity order by rank limit $3
      ), taken as (
        select m.id from webhook_message m where m.id = any(array(select id from picked)) and m.state = 'queued' and m.due_at <= now()
        for update skip locked
      ), claimed as (
        update webhook_message m set state = 'sending', lease_owner = $1, lease_until = now() + $2 * interval '1 millisecond', attempt = attempt + 1
        where m.id = any(array(select id from taken))
        returning m.id, m.endpoint_id, m.notification_id, m.channel, m.event_seq, m.attempt, m.earlier_attempts, m.queued_at, m.created_at, m.position
      )
      select (
        select json_agg(json_build_array(id, endpoint_id, notification_id, channel, event_seq, attempt, attempt - earlier_attempts,
          date_part('epoch', now() - queued_at) * 1000, date_part('epoch', created_at) * 1000) order by position)
        from claimed
      ) as messages, (
        select json_agg(json_build_object('id', id, 'account', account_id, 'mode', mode, 'url', url, 'version', payload_version, 'secret', encode(secret, 'hex'),
          'previousSecret', case when previous_secret_until > now() then encode(previous_secret, 'hex') end, 'endpointFailing', failing_since is not null))
        from webhook_endpoint where id = any(array(select endpoint_id from claimed))
      ) as endpoints`,
    values: [
      query.owner,
      query.leaseMs,
      query.limit,
      query.capacity,
      query.failuresToPause,
      JSON.stringify(Array.from(query.endpoints, ([id, { held, capacity }]) => ({ id, held, capacity }))),
      query.perScope,
      JSON.stringify(Array.from(query.scopes, ([scope, held]) => ({ scope, held }))),
      query.from ?? BEGINNING,
    ],
  })
  const { messages, endpoints } = rows[0]!
  const targets = new Map((endpoints ?? []).map(endpoint => [endpoint.id, toTarget(endpoint)]))
  return (messages ?? []).map(message => toClaim(message, targets.get(message[1])!))
}

type Target = Pick<WebhookClaim, 'account' | 'mode' | 'url' | 'version' | 'secrets' | 'endpointFailing'>

/** The secrets are in hexadecimal. */
type ClaimedEndpoint = Omit<Target, 'secrets'> & { id: string; secret: string; previousSecret: string | null }

const toTarget = ({ secret, previousSecret, ...endpoint }: ClaimedEndpoint): Target => ({
  ...endpoint,
  secrets: (previousSecret === null ? [secret] : [secret, previousSecret]).map(hex => Buffer.from(hex, 'hex')),
})

/** Id, endpoint, notification, channel, event, attempt, attemptsSinceQueued, age and time of creation in milliseconds. */
type ClaimedMessage = [string, string, string, Channel, number, number, number, number, number]

/** Written member by member, because adding members to a copy takes a hundred times as long. */
const toClaim = (
  [id, endpoint, notification, channel, seq, attempt, attemptsSinceQueued, ageMs, createdMs]: ClaimedMessage,
  { account, mode, url, version, secrets, endpointFailing }: Target,
): WebhookClaim => ({
  id,
  endpoint,
  account,
  mode,
  notification,
  channel,
  seq,
  attempt,
  attemptsSinceQueued,
  ageMs,
  createdAt: new Date(createdMs),
  url,
  version,
  secrets,
  endpointFailing,
})

/** Identifies a lease. Only the holder of the lease may settle the message. */
export interface MessageFence {
  message: string
  owner: string
  attempt: number
}

export interface Settlement extends MessageFence, AttemptResult {
  state: 'done' | 'queued' | 'dead'
  /** null: no further attempt. */
  delayMs: number | null
}

const settlementColumns: Columns<Settlement> = {
  message: column('uuid', ({ message }) => message),
  owner: column('uuid', ({ owner }) => owner),
  attempt: column('int', ({ attempt }) => attempt),
  state: column('text', ({ state }) => state),
  delay_ms: column('bigint', ({ delayMs }) => delayMs),
  url: column('text', ({ url }) => url),
  version: column('text', ({ version }) => version),
  at: column('timestamptz', ({ at }) => at),
  duration_ms: column('int', ({ durationMs }) => durationMs),
  status: column('int', ({ status }) => status),
  error: column('text', ({ error }) => error),
  response_headers: column('text', ({ responseHeaders }) => responseHeaders),
  response_body: column('text', ({ responseBody }) => responseBody),
}

/** Writes the outcomes of many attempts and their log. Returns the messages that the worker no longer held, which are nearly always none. */
export const settleMessages = async (db: Queryable, settlements: readonly Settlement[]): Promise<Set<string>> =>
  new Set(
    await queryValues<string>(db, {
      name: 'settle-webhooks',
      text: SETTLE,
      values: columnValues(settlementColumns, settlements),
    }),
  )

const SETTLE = `
  with given as materialized (
    ${selectColumns(settlementColumns, 1)}
  ), settled as (
    update webhook_message m set state = g.state, due_at = coalesce(now() + g.delay_ms * interval '1 millisecond', m.due_at),
      lease_owner = null, lease_until = null
    from given g
    -- Only a message in the state 'sending' has an owner. With the state as a condition, all messages under way would be read.
    where m.id = g.message and m.lease_owner = g.owner and m.attempt = g.attempt
      -- Without the list and without statistics, all messages would be read.
      and m.id = any($1::uuid[])
    returning m.id, m.endpoint_id, m.notification_id, m.channel, m.event_seq, m.state, m.due_at, m.attempt - m.earlier_attempts as attempts
  ), followers as (
    -- They wait for it as long as they may not overtake it: due at once, they would be read by every claim.
    select f.id, s.due_at from settled s cross join lateral (
      select id from webhook_message
      where endpoint_id = s.endpoint_id and notification_id = s.notification_id and channel = s.channel and event_seq > s.event_seq
        and state = 'queued' and due_at < s.due_at
      offset 0 for no key update skip locked
    ) f
    where s.state = 'queued' and s.attempts < ${ORDERED_ATTEMPTS}
  ), put_off as (
    update webhook_message m set due_at = f.due_at from followers f
    where m.id = f.id and m.id = any(array(select id from followers))
  ), logged as (
    insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, status, error, response_headers, response_body)
    select s.endpoint_id, s.id, g.attempt, g.url, g.version, g.at, g.duration_ms, g.status, g.error, g.response_headers, g.response_body
    from given g join settled s on s.id = g.message
  )
  select message from given where message not in (select id from settled)`

/** Of the messages of a worker. What is in neither set is no longer its own. */
export interface Renewal {
  renewed: ReadonlySet<string>
  /** Another transaction holds them at this moment; their lease is what it was. */
  passedOver: ReadonlySet<string>
}

/** The messages of $1 that their worker still holds. */
const STILL_HELD = `webhook_message m join json_to_recordset($1) as g(message uuid, owner uuid, attempt int) on m.id = g.message
       where m.state = 'sending' and m.lease_owner = g.owner and m.attempt = g.attempt and m.lease_until > now()`

/**
 * Renews leases that have not expired; an expired one may belong to another worker. A message that another transaction holds is passed
 * over: to wait for it here would lose the leases of all others.
 */
export async function renewMessages(db: Queryable, messages: readonly MessageFence[], leaseMs: number): Promise<Renewal> {
  const rows = await queryRows<{ id: string; renewed: boolean }>(
    db,
    `with own as materialized (select m.id from ${STILL_HELD}), held as (
       select m.id from ${STILL_HELD} order by m.id for no key update of m skip locked
     ), renewed as (
       update webhook_message m set lease_until = now() + $2 * interval '1 millisecond' from held h where m.id = h.id
       returning m.id
     )
     select id, id in (select id from renewed) as renewed from own`,
    [JSON.stringify(messages), leaseMs],
  )
  const idsOf = (renewed: boolean): Set<string> => new Set(rows.filter(row => row.renewed === renewed).map(({ id }) => id))
  return { renewed: idsOf(true), passedOver: idsOf(false) }
}

/** Returns claimed messages to the queue, due now, because claims begin at its front; the claim does not count as an attempt. */
export const releaseMessages = (db: Queryable, messages: readonly MessageFence[]): Promise<void> =>
  execute(
    db,
    `update webhook_message m set state = 'queued', attempt = m.attempt - 1, due_at = now(), lease_owner = null, lease_until = null
     from json_to_recordset($1) as g(message uuid, owner uuid, attempt int)
     where m.id = g.message and m.state = 'sending' and m.lease_owner = g.owner and m.attempt = g.attempt`,
    [JSON.stringify(messages)],
  )

/** Queues the messages of dead workers again. Their outcome is unknown, and a duplicate under the same id is harmless. */
export async function reapMessages(db: Queryable, reason: string): Promise<number> {
  const { rowCount } = await run(
    db,
    `with expired as (
       select id from webhook_message where state = 'sending' and lease_until < now() order by lease_until limit 1000 for update skip locked
     ), freed as (
       update webhook_message m set state = 'queued', due_at = now(), lease_owner = null, lease_until = null
       from expired x where m.id = x.id
       returning m.id, m.endpoint_id, m.attempt
     )
     insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, error)
     select f.endpoint_id, f.id, f.attempt, w.url, w.payload_version, now(), 0, $1 from freed f join webhook_endpoint w on w.id = f.endpoint_id`,
    [reason],
  )
  return rowCount ?? 0
}

/**
 * Makes the next messages of these endpoints due at once, because they work again. Not all of them: hundreds of thousands would take longer
 * than a statement may, and the outcome that is written with them would be lost. The others become due at their own time. A message that
 * another transaction holds is under way.
 */
export const makeMessagesDue = (db: Queryable, endpoints: readonly string[]): Promise<void> =>
  execute(
    db,
    `with waiting as (
       select m.id from unnest($1::uuid[]) as e(id) cross join lateral (
         select id from webhook_message where endpoint_id = e.id and state = 'queued' and due_at > now()
         order by due_at, position limit $2 for no key update skip locked
       ) m
     )
     update webhook_message m set due_at = now() from waiting w where m.id = w.id and m.id = any(array(select id from waiting))`,
    [endpoints, MOST_MADE_DUE],
  )
