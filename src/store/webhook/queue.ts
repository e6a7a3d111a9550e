import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import type { PayloadVersion } from '../../domain/webhook.js'
import { type Columns, column, columnValues, selectColumns } from '../columns.js'
import { execute, type Queryable, queryValue, queryValues, run, type Transaction } from '../postgres.js'
import { BEGINNING, frontOf } from '../queue-front.js'
import type { AttemptResult } from './attempts.js'
import { awaitTurn, COUNTS, OWN_LEASES } from './leases.js'

/** A message of the outbox, claimed under a lease together with others. */
export interface WebhookClaim extends Scope {
  id: string
  lease: number
  endpoint: string
  notification: string
  channel: Channel
  /** 0: a test event. */
  seq: number
  /** Including this one. */
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
  /** Leases of this worker of which every message has its outcome. */
  ended: readonly number[]
}

/** Of a message m. */
const IS_FREE = '(m.id, m.attempt) not in (select message, attempt from under_way)'

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
 * Claims due messages: writes one lease for all of them, and leaves them as they are. Endpoints are served in rotation, and each
 * endpoint and each scope has a limit, so that a slow one delays only itself. A message waits for the earlier ones of its notification and
 * channel that are being sent, are due or are in their first attempts.
 */
export async function claimMessages(db: Transaction, query: ClaimQuery): Promise<WebhookClaim[]> {
  await awaitTurn(db)
  // The result is one row with a list for each column: hundreds of rows take several times as long to read, and a list for each message
  // several times as long to write. Each endpoint is returned once.
  const { rows } = await run<Nullable<ClaimedMessages & { lease: number; targets: ClaimedEndpoint[] }>>(db, {
    name: 'claim-webhooks',
    text: `
      with recursive ${endpointsFrom('$9::timestamptz', '$5')}, live as materialized (
        select endpoints, messages, attempts from webhook_lease where ${COUNTS}
      ), under_way as materialized (
        select u.message, u.attempt from live cross join unnest(messages, attempts) as u(message, attempt)
      ), ended as (
        delete from webhook_lease where id = any(array(${OWN_LEASES('$1', '$10')}))
      ), ready as (
        select w.id, looked_at.since, a.scope, $7 - coalesce(s.held, 0) as scope_capacity,
          case when w.failures >= $5 then 1 else coalesce(h.capacity, $4) end - coalesce(h.held, 0) as capacity
        from looked_at join webhook_endpoint w on w.id = looked_at.endpoint_id
        left join json_to_recordset($6) as h(id uuid, held int, capacity int) on h.id = w.id
        cross join lateral (select w.account_id || ' ' || w.mode as scope) a
        left join json_to_recordset($8) as s(scope text, held int) on s.scope = a.scope
        -- An endpoint of which nothing is due that is not under way takes no place and no share. Alone, it would take them from nobody.
        where ${MAY_BE_CALLED} and looked_at.since <= now() and ((select count(*) from looked_at) = 1 or w.id not in (select unnest(endpoints) from live) or exists (
          select from (
            select id, attempt from webhook_message where endpoint_id = w.id and state = 'queued' and due_at <= now() and due_at >= looked_at.since
            order by due_at, position offset 0
          ) m where ${IS_FREE}
        ))
      ), offered as (
        select p.*, r.scope, r.scope_capacity, row_number() over (partition by r.id order by p.due_at, p.position) as rank
        from (
          select *, count(*) over () as endpoints from (
            select * from (select *, row_number() over (partition by scope order by random()) as place from ready where capacity > 0) of_scope
            where place <= scope_capacity order by random() limit 200
          ) any_order
        ) r
        cross join lateral (
          select m.id, m.endpoint_id, m.notification_id, m.channel, m.event_seq, m.attempt, m.earlier_attempts, m.queued_at, m.created_at, m.due_at,
            m.position
          from webhook_message m
          where m.endpoint_id = r.id and m.state = 'queued' and m.due_at <= now() and m.due_at >= r.since and ${IS_FREE}
            and not exists (
              select from webhook_message e
              where e.endpoint_id = m.endpoint_id and e.notification_id = m.notification_id and e.channel = m.channel and e.event_seq < m.event_seq
                and e.state = 'queued' and (
                  e.due_at <= now() or e.attempt - e.earlier_attempts < ${ORDERED_ATTEMPTS}
                  or (e.id, e.attempt) in (select message, attempt from under_way)
                )
              -- A look-up for each message: joined, and without statistics, the messages of an endpoint would be compared one by one.
              offset 0
            )
          -- At most twice the even share: what is offered beyond it is rarely picked, and ten endpoints would offer ten claims' worth.
          order by m.due_at, m.position limit least(r.capacity, $3, ceil(2.0 * $3 / r.endpoints))
        ) p
      ), picked as materialized (
        select * from (select *, row_number() over (partition by scope order by rank) as scope_rank from offered) o
        where scope_rank <= scope_capacity order by rank limit $3
      ), lease as (
        insert into webhook_lease (owner, until, endpoints, messages, attempts)
        select $1, now() + $2 * interval '1 millisecond', array_agg(distinct endpoint_id), array_agg(id), array_agg(attempt)
        from picked having count(*) > 0
        returning id
      )
      select (select id from lease) as lease, m.*, (
        select json_agg(json_build_object('id', id, 'account', account_id, 'mode', mode, 'url', url, 'version', payload_version, 'secret', encode(secret, 'hex'),
          'previousSecret', case when previous_secret_until > now() then encode(previous_secret, 'hex') end, 'endpointFailing', failing_since is not null))
        from webhook_endpoint where id = any(array(select distinct endpoint_id from picked))
      ) as targets
      from (
        select json_agg(id) as ids, json_agg(endpoint_id) as endpoints, json_agg(notification_id) as notifications, json_agg(channel) as channels,
          json_agg(event_seq) as seqs, json_agg(attempt) as attempts, json_agg(attempt - earlier_attempts) as "attemptsSinceQueued",
          json_agg(date_part('epoch', now() - queued_at) * 1000) as ages, json_agg(date_part('epoch', created_at) * 1000) as "createdAt"
        from (select * from picked order by position) p
      ) m`,
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
      query.ended,
    ],
  })
  const { lease, targets, ...messages } = rows[0]!
  if (lease === null) return []
  const byEndpoint = new Map(targets!.map(endpoint => [endpoint.id, toTarget(endpoint)]))
  return messages.ids!.map((_, index) => toClaim(lease, messages as ClaimedMessages, index, byEndpoint))
}

type Nullable<T> = { [K in keyof T]: T[K] | null }

type Target = Pick<WebhookClaim, 'account' | 'mode' | 'url' | 'version' | 'secrets' | 'endpointFailing'>

/** The secrets are in hexadecimal. */
type ClaimedEndpoint = Omit<Target, 'secrets'> & { id: string; secret: string; previousSecret: string | null }

const toTarget = ({ secret, previousSecret, ...endpoint }: ClaimedEndpoint): Target => ({
  ...endpoint,
  secrets: (previousSecret === null ? [secret] : [secret, previousSecret]).map(hex => Buffer.from(hex, 'hex')),
})

/** The attempts that had ended; the ages and times of creation in milliseconds. */
interface ClaimedMessages {
  ids: string[]
  endpoints: string[]
  notifications: string[]
  channels: Channel[]
  seqs: number[]
  attempts: number[]
  attemptsSinceQueued: number[]
  ages: number[]
  createdAt: number[]
}

/** Written member by member, because adding members to a copy takes a hundred times as long. */
function toClaim(lease: number, messages: ClaimedMessages, index: number, targets: ReadonlyMap<string, Target>): WebhookClaim {
  const endpoint = messages.endpoints[index]!
  const { account, mode, url, version, secrets, endpointFailing } = targets.get(endpoint)!
  return {
    id: messages.ids[index]!,
    lease,
    endpoint,
    account,
    mode,
    notification: messages.notifications[index]!,
    channel: messages.channels[index]!,
    seq: messages.seqs[index]!,
    attempt: messages.attempts[index]! + 1,
    attemptsSinceQueued: messages.attemptsSinceQueued[index]! + 1,
    ageMs: messages.ages[index]!,
    createdAt: new Date(messages.createdAt[index]!),
    url,
    version,
    secrets,
    endpointFailing,
  }
}

export interface Settlement extends AttemptResult {
  message: string
  /** Including the one that is settled. */
  attempt: number
  state: 'done' | 'queued' | 'dead'
  /** null: no further attempt. */
  delayMs: number | null
}

const settlementColumns: Columns<Settlement> = {
  message: column('uuid', ({ message }) => message),
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

/**
 * Writes the outcomes of many attempts and their log. Returns the messages that the worker no longer held, which are nearly always none: each
 * attempt has its number, and once a lease is over the attempt under it counts as interrupted.
 */
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
    update webhook_message m set state = g.state, attempt = g.attempt, due_at = coalesce(now() + g.delay_ms * interval '1 millisecond', m.due_at)
    from given g
    where m.id = g.message and m.state = 'queued' and m.attempt = g.attempt - 1
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
