import type { Channel } from '../../domain/channel.js'
import type { StoredEvent } from '../../domain/delivery/rebuild.js'
import type { Failure } from '../../domain/delivery/status.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import type { PayloadVersion } from '../../domain/webhook.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import { filterBy, plannedOnce, type Queryable, queryRows, run } from '../postgres.js'
import { UNDER_WAY } from './leases.js'

/** One request to an endpoint and its response. */
export interface AttemptResult {
  url: string
  version: PayloadVersion
  at: Date
  durationMs: number
  status: number | null
  error: string | null
  responseHeaders: string | null
  responseBody: string | null
}

export interface LoggedAttempt extends AttemptResult {
  id: number
  message: string
  attempt: number
  notification: string
  channel: Channel
  seq: number
  state: string
  createdAt: Date
}

export interface AttemptQuery {
  /** Only attempts before this one. */
  before: number | null
  message: string | null
  failedOnly: boolean
  limit: number
}

const LAST_ID = '9223372036854775807'

/**
 * Newest first. The condition is a range over the pair (endpoint, id), so that the planner uses the index of the endpoint. With "endpoint =
 * $1" it reads the attempts of all endpoints backwards until it has found enough, which takes long for an endpoint that was tried long ago.
 */
export const listAttempts = (db: Queryable, endpoint: string, query: AttemptQuery): Promise<LoggedAttempt[]> =>
  queryRows(
    db,
    plannedOnce({
      text: `select a.id, a.message_id as message, a.attempt, a.url, a.payload_version as version, a.at, a.duration_ms as "durationMs", a.status,
       a.error, a.response_headers as "responseHeaders", a.response_body as "responseBody",
       m.notification_id as notification, m.channel, m.event_seq as seq,
       case when m.state = 'queued' and (m.id, m.attempt) in (${UNDER_WAY}) then 'sending' else m.state end as state, m.created_at as "createdAt"
     from webhook_attempt a join webhook_message m on m.id = a.message_id
     where (a.endpoint_id, a.id) > ($1::uuid, 0::bigint) and (a.endpoint_id, a.id) < ($1::uuid, $2::bigint)
       and ${filterBy('$3::uuid', query.message, 'a.message_id = $3')} ${query.failedOnly ? 'and a.error is not null' : ''}
     order by a.endpoint_id desc, a.id desc limit $4`,
      values: [endpoint, query.before ?? LAST_ID, query.message, query.limit],
    }),
  )

/** The account's own term, or that of the installation ($1), and no longer than that of all personal data. Of an account a. */
export const WEBHOOK_TERM = `least(coalesce(nullif((a.settings ->> 'retention.webhooks')::int, 0), $1::int),
  nullif((a.settings ->> 'retention.events')::int, 0)) * interval '1 day'`

/**
 * Deletes one batch of attempts after their retention time, or of deleted endpoints. Attempts are never updated, so the place of a row stays
 * its own. The ids of an endpoint are in the order of time: of each endpoint it reads what it deletes, and the first attempt that stays.
 * An attempt of a node with a clock that was days ahead stays alone: it must not keep all that came after it.
 */
export async function pruneAttempts(db: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await run(
    db,
    `delete from webhook_attempt where ctid = any(array(
       select t.ctid from (
         select w.id, case when w.deleted_at is null then now() - ${WEBHOOK_TERM} else 'infinity' end as until
         from webhook_endpoint w join account a on a.id = w.account_id
       ) w cross join lateral (
         select ctid from webhook_attempt where endpoint_id = w.id and id < coalesce((
           select o.id from (select id, at from webhook_attempt where endpoint_id = w.id order by id limit $2) o
           where o.at >= w.until and o.at < now() + interval '1 day' limit 1
         ), ${LAST_ID}) and at < w.until order by id limit $2
       ) t limit $2))`,
    [days, limit],
  )
  return rowCount ?? 0
}

/** `data` of an event that was erased: null. */
export interface WebhookEvent extends StoredEvent {
  seq: number
}

/**
 * All events of these notifications, in order. Of the first one, which has most of the data, only the two members that a body needs are
 * read: with all of it, and with dates that were formatted by hand, the statement took half as long again.
 */
export async function readEvents(db: Queryable, notifications: readonly string[]): Promise<Map<string, WebhookEvent[]>> {
  const months = recentMonthsOfIds(notifications)
  // One row with a list for each column: rows take several times as long to read, and a list for each event twice as long to write.
  const { rows } = await run<{ [K in keyof EventColumns]: EventColumns[K] | null }>(db, {
    name: nameWithin(months, 'read-webhook-events'),
    text: `select json_agg(notification_id) as notifications, json_agg(seq) as seqs, json_agg(at) as times, json_agg(type) as types,
             json_agg(source) as sources, json_agg(data) as data, json_agg(custom_id) as "customIds"
           from (
             select notification_id, seq, at, type, source, case when seq = 1 then coalesce(data -> 'deliveries', data) else data end as data,
               case when seq = 1 then data -> 'customId' end as custom_id
             from event where notification_id = any($1::uuid[]) and ${withinMonths(months, 'notification_id')}
             order by notification_id, seq
           ) e`,
    values: [notifications],
  })
  const events = new Map<string, WebhookEvent[]>()
  if (rows[0]!.notifications === null) return events
  const { notifications: ids, seqs, times, types, sources, data: all, customIds } = rows[0] as EventColumns
  for (const [index, id] of ids.entries()) {
    const seq = seqs[index]!
    const data = all[index] ?? null
    const event = {
      seq,
      at: times[index]!,
      type: types[index]!,
      source: sources[index]!,
      data: seq === 1 && Array.isArray(data) ? { customId: customIds[index] ?? null, deliveries: data } : data,
    }
    const known = events.get(id)
    if (known === undefined) events.set(id, [event])
    else known.push(event)
  }
  return events
}

interface EventColumns {
  notifications: string[]
  seqs: number[]
  times: string[]
  types: string[]
  sources: string[]
  data: Json[]
  customIds: Json[]
}

/** The dates of a delivery that visits of its recipient may have set. They stay where the visits are erased. */
export interface VisitDates {
  notification: string
  channel: Channel
  readAt: Date | null
  confirmedAt: Date | null
  linkOpenedAt: Date | null
  failedAt: Date | null
  failure: Failure | null
  failureDetail: string | null
}

export const readVisitDates = (db: Queryable, notifications: readonly string[]): Promise<VisitDates[]> => {
  const months = recentMonthsOfIds(notifications)
  return queryRows(db, {
    name: nameWithin(months, 'read-visit-dates'),
    text: `select notification_id as notification, channel, read_at as "readAt", confirmed_at as "confirmedAt", link_opened_at as "linkOpenedAt",
             failed_at as "failedAt", failure, failure_detail as "failureDetail"
           from delivery where notification_id = any($1::uuid[]) and ${withinMonths(months, 'notification_id')}`,
    values: [notifications],
  })
}
