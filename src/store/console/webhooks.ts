import type { Mode } from '../../domain/access/token.js'
import type { Scope } from '../../domain/scope.js'
import { plannedOnce, type Queryable, queryRow, queryRows } from '../postgres.js'
import type { WebhookEndpoint } from '../webhook/endpoints.js'

/** Counts of waiting messages stop here. */
export const MOST_WAITING = 1_000

export interface ListedEndpoint extends Omit<WebhookEndpoint, 'mode'> {
  account: string
  /** The latest attempt; null: there was none. */
  lastAt: Date | null
  lastStatus: number | null
  lastError: string | null
}

const LAST_ID = '9223372036854775807::bigint'

/**
 * The endpoints of these accounts in one mode, newest first: at most a hundred for each account (webhooks/endpoints.ts). The latest attempt is
 * found by a range over the pair (endpoint, id), for the reason that listAttempts gives; for an endpoint that was never tried, the other
 * plan would read all attempts.
 */
export const listAllEndpoints = (db: Queryable, accounts: readonly string[], mode: Mode): Promise<ListedEndpoint[]> =>
  queryRows(
    db,
    plannedOnce({
      text: `select w.id, w.account_id as account, w.url, w.payload_version as version, w.channels, w.statuses, w.created_at as "createdAt",
       w.disabled_at as "disabledAt", w.disabled_reason as "disabledReason", w.failing_since as "failingSince",
       case when w.previous_secret_until > now() then w.previous_secret_until end as "previousSecretUntil",
       q.waiting, o.oldest as "oldestWaiting", l.at as "lastAt", l.status as "lastStatus", l.error as "lastError"
     from webhook_endpoint w
     cross join lateral (
       select count(*)::int as waiting from (select from webhook_message m where m.endpoint_id = w.id and m.state = 'queued' limit $3) c
     ) q
     left join lateral (
       select queued_at as oldest from webhook_message m where m.endpoint_id = w.id and m.state = 'queued' order by due_at, position limit 1
     ) o on true
     left join lateral (
       select at, status, error from webhook_attempt a
       where (a.endpoint_id, a.id) > (w.id, 0::bigint) and (a.endpoint_id, a.id) <= (w.id, ${LAST_ID})
       order by a.endpoint_id desc, a.id desc limit 1
     ) l on true
     where w.account_id = any($1::uuid[]) and w.mode = $2 and w.url is not null and w.deleted_at is null
     order by w.created_at desc, w.id desc limit 500`,
      values: [accounts, mode, MOST_WAITING],
    }),
  )

/** The scope of an endpoint of one of these accounts; null: they have none of this id. */
export const findEndpointScope = (db: Queryable, accounts: readonly string[], id: string): Promise<Scope | null> =>
  queryRow(
    db,
    `select account_id as account, mode from webhook_endpoint
     where id = $2 and account_id = any($1::uuid[]) and url is not null and deleted_at is null`,
    [accounts, id],
  )
