import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import type { AnnouncedFact, PayloadVersion } from '../../domain/webhook.js'
import { lockAccount } from '../accounts/accounts.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows, queryValue, queryValues, run } from '../postgres.js'

export type DisabledReason = 'manual' | 'gone' | 'failing'

export interface WebhookEndpoint {
  id: string
  mode: Mode
  url: string
  version: PayloadVersion
  /** null: all of them. */
  channels: Channel[] | null
  statuses: AnnouncedFact[] | null
  createdAt: Date
  disabledAt: Date | null
  disabledReason: DisabledReason | null
  failingSince: Date | null
  /** Until when the previous secret signs too. */
  previousSecretUntil: Date | null
  /** The number of waiting messages, counted up to MOST_COUNTED. */
  waiting: number
  /** The oldest of those that were counted. */
  oldestWaiting: Date | null
}

/** The count of the messages of an endpoint stops here: reading it costs the same however much waits. */
const MOST_COUNTED = 10_000

/** The waiting messages of the endpoint `w`, those of the oldest notifications first, which is the order of their index. */
const WAITING = `
  select m.created_at, m.queued_at from webhook_message m
  where m.endpoint_id = w.id and m.state = 'queued'
  order by m.notification_id, m.channel, m.event_seq limit ${MOST_COUNTED}`

const SELECT = `
  select w.id, w.mode, w.url, w.payload_version as version, w.channels, w.statuses, w.created_at as "createdAt", w.disabled_at as "disabledAt",
    w.disabled_reason as "disabledReason", w.failing_since as "failingSince",
    case when w.previous_secret_until > now() then w.previous_secret_until end as "previousSecretUntil",
    q.waiting, q.oldest as "oldestWaiting"
  from webhook_endpoint w
  cross join lateral (select count(*) as waiting, min(created_at) as oldest from (${WAITING}) c) q
  where w.account_id = $1 and w.mode = $2 and w.url is not null and w.deleted_at is null`

export const listEndpoints = (db: Queryable, { account, mode }: Scope): Promise<WebhookEndpoint[]> =>
  queryRows(db, `${SELECT} order by w.created_at desc, w.id desc`, [account, mode])

export const findEndpoint = (db: Queryable, { account, mode }: Scope, id: string): Promise<WebhookEndpoint | null> =>
  queryRow(db, `${SELECT} and w.id = $3`, [account, mode, id])

export interface NewEndpoint extends Scope {
  id: string
  /** null: a listener. */
  url: string | null
  version: PayloadVersion
  channels: readonly Channel[] | null
  statuses: readonly AnnouncedFact[] | null
  /** Sealed. */
  secret: Buffer
}

/** Counts the endpoints or listeners of a scope and locks the account until the transaction ends. */
export async function countEndpoints(db: Queryable, { account, mode }: Scope, kind: 'endpoints' | 'listeners'): Promise<number> {
  await lockAccount(db, account)
  const text =
    'select count(*) from webhook_endpoint where account_id = $1 and mode = $2 and deleted_at is null and (url is null) = $3'
  return (await queryValue<number>(db, text, [account, mode, kind === 'listeners']))!
}

export async function insertEndpoint(db: Queryable, endpoint: NewEndpoint): Promise<void> {
  const { id, account, mode, url, version, channels, statuses, secret } = endpoint
  await run(
    db,
    `insert into webhook_endpoint (id, account_id, mode, url, payload_version, channels, statuses, secret, seen_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now())`,
    [id, account, mode, url, version, channels, statuses, secret],
  )
}

export interface EndpointChanges {
  url?: string
  version?: PayloadVersion
  channels?: readonly Channel[] | null
  statuses?: readonly AnnouncedFact[] | null
  active?: boolean
}

/** Changes the given members. A new URL or enabling resets the failures. False: no such endpoint. */
export const updateEndpoint = (db: Queryable, { account, mode }: Scope, id: string, changes: EndpointChanges): Promise<boolean> =>
  matchesRow(
    db,
    `update webhook_endpoint w set
       url = coalesce(c.url, w.url),
       payload_version = coalesce(c.version, w.payload_version),
       channels = case when $4::jsonb ? 'channels' then c.channels else w.channels end,
       statuses = case when $4::jsonb ? 'statuses' then c.statuses else w.statuses end,
       disabled_at = case when c.active then null when not c.active then coalesce(w.disabled_at, now()) else w.disabled_at end,
       disabled_reason = case when c.active then null when not c.active then coalesce(w.disabled_reason, 'manual') else w.disabled_reason end,
       failures = case when c.active or c.url is not null then 0 else w.failures end,
       failing_since = case when c.active or c.url is not null then null else w.failing_since end,
       -- Claims look at all messages of an endpoint that was paused lately (queue.ts).
       paused_until = case when c.active or c.url is not null then now() else w.paused_until end,
       asked_until = case when c.active or c.url is not null then null else w.asked_until end
     from jsonb_to_record($4) as c(url text, version text, channels text[], statuses text[], active boolean)
     where w.id = $3 and w.account_id = $1 and w.mode = $2 and w.url is not null and w.deleted_at is null`,
    [account, mode, id, JSON.stringify(changes)],
  )

/** The previous secret continues to sign for `overlapMs`. False: no such endpoint. */
export const rotateSecret = (
  db: Queryable,
  { account, mode }: Scope,
  id: string,
  secret: Buffer,
  overlapMs: number,
): Promise<boolean> =>
  matchesRow(
    db,
    `update webhook_endpoint set previous_secret = secret, previous_secret_until = now() + $5 * interval '1 millisecond', secret = $4
     where id = $3 and account_id = $1 and mode = $2 and url is not null and deleted_at is null`,
    [account, mode, id, secret, overlapMs],
  )

/** Marks an endpoint or a listener as deleted; its rows are removed later. False: no such endpoint. */
export const deleteEndpoint = (db: Queryable, { account, mode }: Scope, id: string): Promise<boolean> =>
  matchesRow(
    db,
    `update webhook_endpoint set deleted_at = now(), disabled_at = coalesce(disabled_at, now()), disabled_reason = coalesce(disabled_reason, 'manual')
     where id = $3 and account_id = $1 and mode = $2 and deleted_at is null`,
    [account, mode, id],
  )

export interface LockedEndpoints {
  /** The URLs of the locked endpoints, which stay so until the transaction ends. */
  urls: ReadonlyMap<string, string>
  /** The endpoints that another transaction holds. */
  busy: ReadonlySet<string>
}

/** Locks the endpoints that get new health figures, in the order of their ids. */
export async function lockEndpoints(db: Queryable, ids: readonly string[]): Promise<LockedEndpoints> {
  const free = await queryRows<{ id: string; url: string }>(
    db,
    'select id, url from webhook_endpoint where id = any($1::uuid[]) order by id for no key update skip locked',
    [ids],
  )
  const urls = new Map(free.map(({ id, url }) => [id, url]))
  const others = ids.filter(id => !urls.has(id))
  if (others.length === 0) return { urls, busy: new Set() }
  const held = await queryValues<string>(db, 'select id from webhook_endpoint where id = any($1::uuid[])', [others])
  return { urls, busy: new Set(held) }
}

export interface HealthReport {
  endpoint: string
  succeeded: boolean
  failed: number
  /** The pause that the endpoint asked for. */
  pauseMs: number
  gone: boolean
}

export interface HealthChange {
  endpoint: string
  account: string
  /** The endpoint was paused for its failures and works again. */
  recovered: boolean
  /** The reason why this report disabled the endpoint, or null. */
  suspended: DisabledReason | null
}

export interface HealthRules {
  /** Consecutive failures after which the endpoint is paused. */
  failuresToPause: number
  maxPauseMs: number
  suspendAfterMs: number
  /** Longer than any delay between two attempts. After so long without a failure, a new failure starts a new period. */
  quietMs: number
}

/** Updates the failure counts of a batch; a success resets them. The caller tells the log of actions of the endpoints that this disabled. */
export const recordHealth = (db: Queryable, reports: readonly HealthReport[], rules: HealthRules): Promise<HealthChange[]> =>
  queryRows(
    db,
    `with given as (
       select * from json_to_recordset($1) as g(endpoint uuid, succeeded boolean, failed int, "pauseMs" bigint, gone boolean)
     ), before as (
       -- Rows are locked in order of id; otherwise two workers that report on the same endpoints would deadlock.
       select w.id, w.failures, w.disabled_at, w.asked_until, s.since, g.succeeded, g.failed, g."pauseMs", g.gone,
         case when g.gone then 'gone' when not g.succeeded and s.since < now() - $4 * interval '1 millisecond' then 'failing' end as verdict
       from webhook_endpoint w join given g on g.endpoint = w.id
       cross join lateral (
         select case when coalesce(w.failed_at, w.failing_since) > now() - $5 * interval '1 millisecond'
           then coalesce(w.failing_since, now()) else now() end as since
       ) s
       order by w.id for no key update of w
     ), changed as (
     update webhook_endpoint w set
       failures = case when b.succeeded then 0 else b.failures + b.failed end,
       failing_since = case when b.succeeded then null else b.since end,
       failed_at = case when b.succeeded then w.failed_at else now() end,
       asked_until = a.until,
       paused_until = case when b.succeeded then coalesce(a.until, case when b.failures >= $2 or w.paused_until > now() then now() else w.paused_until end)
         else greatest(a.until, case when b.failures + b.failed >= $2
           then now() + least($3, 1000 * power(2, least(b.failures + b.failed - $2, 20))) * interval '1 millisecond' else w.paused_until end) end,
       disabled_at = coalesce(w.disabled_at, case when b.verdict is not null then now() end),
       disabled_reason = coalesce(w.disabled_reason, b.verdict)
     from before b
     cross join lateral (select greatest(b.asked_until, now() + b."pauseMs" * interval '1 millisecond') as until) wish
     cross join lateral (select case when wish.until > now() then wish.until end as until) a
     where w.id = b.id
     returning w.id as endpoint, w.account_id as account, b.succeeded and b.failures >= $2 as recovered,
       case when b.disabled_at is null then b.verdict end as suspended
     )
     select endpoint, account, recovered, suspended from changed`,
    [JSON.stringify(reports), rules.failuresToPause, rules.maxPauseMs, rules.suspendAfterMs, rules.quietMs],
  )

/** Marks listeners as deleted that no client has polled for some time. */
export const deleteUnusedListeners = (db: Queryable, unseenMs: number): Promise<void> =>
  execute(
    db,
    `update webhook_endpoint set deleted_at = now(), disabled_at = now(), disabled_reason = 'manual'
     where url is null and deleted_at is null and seen_at < now() - $1 * interval '1 millisecond'`,
    [unseenMs],
  )

/** Removes the rows of deleted endpoints once their messages and attempts are removed. */
export const removeDeletedEndpoints = (db: Queryable): Promise<void> =>
  execute(
    db,
    `delete from webhook_endpoint w where w.deleted_at < now() - interval '1 hour'
       and not exists (select from webhook_message m where m.endpoint_id = w.id)
       and not exists (select from webhook_attempt t where t.endpoint_id = w.id)`,
  )

export interface WebhookDepth {
  queued: number
  oldestSeconds: number
  suspended: number
}

/** For metrics: the queue of the active endpoints, its age, and the number of endpoints disabled by failures. */
export const readWebhookDepth = async (db: Queryable): Promise<WebhookDepth> =>
  (await queryRow<WebhookDepth>(
    db,
    // From the active endpoints on: the messages of the others may be millions.
    `select coalesce(sum(q.waiting), 0)::bigint as queued, coalesce(extract(epoch from now() - min(q.oldest)), 0)::float8 as "oldestSeconds",
       (select count(*) from webhook_endpoint where deleted_at is null and disabled_reason in ('failing', 'gone')) as suspended
     from webhook_endpoint w
     cross join lateral (select count(*) as waiting, min(queued_at) as oldest from (${WAITING}) c) q
     where w.disabled_at is null and w.url is not null`,
  ))!
