import type { Channel } from '../domain/channel.js'
import type { PayloadVersion } from '../domain/webhook.js'
import { type Queryable, run } from './postgres.js'

/** The outbox as workers see it: claimed in batches, leased, settled in batches. */
export interface WebhookClaim {
  id: string
  endpoint: string
  account: string
  notification: string
  channel: Channel
  /** 0: a test event, which no notification has. */
  seq: number
  attempt: number
  /** Attempts since it was queued, this one included. */
  tries: number
  ageMs: number
  createdAt: Date
  url: string
  version: PayloadVersion
  /** Sealed; the current one first. */
  secrets: Buffer[]
  /** Whether the endpoint's last report was a failure. */
  troubled: boolean
}

export interface WebhookQuestion {
  owner: string
  leaseMs: number
  limit: number
  /** Messages that an endpoint may have here, of which nothing is known yet. */
  room: number
  /** What this worker holds already, of what it would hold, by endpoint. */
  endpoints: ReadonlyMap<string, { held: number; room: number }>
  /** The same for accounts: one with many slow endpoints must leave room for the others. */
  perAccount: number
  accounts: ReadonlyMap<string, number>
  /** Failures in a row after which an endpoint gets one message at a time. */
  tolerated: number
}

/** How many tries of an earlier message a later one of the same notification and channel waits for. */
const PATIENT_TRIES = 3

/**
 * Takes due messages. Endpoints take turns, each has a bound, and so has each account, so that a slow one delays only itself. A
 * message waits for the earlier ones of its notification and channel: those under way, those that are due, and those in their
 * first tries. Endpoints with something queued are found in the order of the queue's own index: by endpoint alone, another index
 * would do, and with it a walk through all that was ever sent.
 */
export async function claimMessages(db: Queryable, question: WebhookQuestion): Promise<WebhookClaim[]> {
  // As JSON texts: hundreds of rows take several times as long to read. What the messages of an endpoint share is told once.
  const { rows } = await run<{ messages: ClaimedMessage[] | null; endpoints: ClaimedEndpoint[] | null }>(db, {
    name: 'claim-webhooks',
    text: `
      with recursive waiting as (
        (select endpoint_id from webhook_message where state = 'queued' order by endpoint_id, due_at, position limit 1)
        union all
        select (select m.endpoint_id from webhook_message m where m.state = 'queued' and m.endpoint_id > waiting.endpoint_id
          order by m.endpoint_id, m.due_at, m.position limit 1)
        from waiting where waiting.endpoint_id is not null
      ), ready as (
        select w.id, w.account_id, $7 - coalesce(a.held, 0) as account_room,
          case when w.failures >= $5 then 1 else coalesce(h.room, $4) end - coalesce(h.held, 0) as room
        from waiting join webhook_endpoint w on w.id = waiting.endpoint_id
        left join json_to_recordset($6) as h(id uuid, held int, room int) on h.id = w.id
        left join json_to_recordset($8) as a(id uuid, held int) on a.id = w.account_id
        where w.url is not null and w.disabled_at is null and (w.paused_until is null or w.paused_until <= now())
      ), offered as (
        select p.id, r.account_id, r.account_room, row_number() over (partition by r.id order by p.due_at, p.position) as turn
        from (select * from ready where room > 0 and account_room > 0 order by random() limit 200) r
        cross join lateral (
          select m.id, m.due_at, m.position from webhook_message m
          where m.endpoint_id = r.id and m.state = 'queued' and m.due_at <= now()
            and not exists (
              select from webhook_message e
              where e.endpoint_id = m.endpoint_id and e.notification_id = m.notification_id and e.channel = m.channel and e.event_seq < m.event_seq
                and e.state in ('queued', 'sending')
                and (e.state = 'sending' or e.due_at <= now() or e.attempt - e.earlier_attempts < ${PATIENT_TRIES})
            )
          order by m.due_at, m.position limit r.room
        ) p
      ), picked as (
        select id from (select id, turn, account_room, row_number() over (partition by account_id order by turn) as account_turn from offered) o
        where account_turn <= account_room order by turn limit $3
      ), taken as (
        select m.id from webhook_message m where m.id = any(array(select id from picked)) and m.state = 'queued' for update skip locked
      ), claimed as (
        update webhook_message m set state = 'sending', lease_owner = $1, lease_until = now() + $2 * interval '1 millisecond', attempt = attempt + 1
        where m.id = any(array(select id from taken))
        returning m.id, m.endpoint_id, m.notification_id, m.channel, m.event_seq, m.attempt, m.earlier_attempts, m.queued_at, m.created_at, m.position
      )
      select (
        select json_agg(json_build_array(id, endpoint_id, notification_id, channel, event_seq, attempt, attempt - earlier_attempts,
          (extract(epoch from now() - queued_at) * 1000)::float8, (extract(epoch from created_at) * 1000)::float8) order by position)
        from claimed
      ) as messages, (
        select json_agg(json_build_object('id', id, 'account', account_id, 'url', url, 'version', payload_version, 'secret', encode(secret, 'hex'),
          'previousSecret', case when previous_secret_until > now() then encode(previous_secret, 'hex') end, 'troubled', failing_since is not null))
        from webhook_endpoint where id = any(array(select endpoint_id from claimed))
      ) as endpoints`,
    values: [
      question.owner,
      question.leaseMs,
      question.limit,
      question.room,
      question.tolerated,
      JSON.stringify(Array.from(question.endpoints, ([id, { held, room }]) => ({ id, held, room }))),
      question.perAccount,
      JSON.stringify(Array.from(question.accounts, ([id, held]) => ({ id, held }))),
    ],
  })
  const { messages, endpoints } = rows[0]!
  const targets = new Map((endpoints ?? []).map(endpoint => [endpoint.id, toTarget(endpoint)]))
  return (messages ?? []).map(message => toClaim(message, targets.get(message[1])!))
}

interface ClaimedEndpoint {
  id: string
  account: string
  url: string
  version: PayloadVersion
  /** In hexadecimal, as the one before it. */
  secret: string
  previousSecret: string | null
  troubled: boolean
}

type Target = Pick<WebhookClaim, 'account' | 'url' | 'version' | 'secrets' | 'troubled'>

const toTarget = ({ account, url, version, secret, previousSecret, troubled }: ClaimedEndpoint): Target => ({
  account,
  url,
  version,
  secrets: (previousSecret === null ? [secret] : [secret, previousSecret]).map(hex => Buffer.from(hex, 'hex')),
  troubled,
})

/** Id, endpoint, notification, channel, event, attempt, tries, and in milliseconds its age and when it was made. */
type ClaimedMessage = [string, string, string, Channel, number, number, number, number, number]

/** Member by member: to add members to a copy takes a hundred times as long. */
const toClaim = (
  [id, endpoint, notification, channel, seq, attempt, tries, ageMs, createdMs]: ClaimedMessage,
  { account, url, version, secrets, troubled }: Target,
): WebhookClaim => ({
  id,
  endpoint,
  account,
  notification,
  channel,
  seq,
  attempt,
  tries,
  ageMs,
  createdAt: new Date(createdMs),
  url,
  version,
  secrets,
  troubled,
})

/** Whose lease a message is under: nobody else may settle it. */
export interface MessageFence {
  message: string
  owner: string
  attempt: number
}

export interface Settlement extends MessageFence {
  state: 'done' | 'queued' | 'dead'
  /** For those that go again. */
  delayMs: number | null
  url: string
  version: PayloadVersion
  at: Date
  durationMs: number
  status: number | null
  error: string | null
  responseHeaders: string | null
  responseBody: string | null
}

/** Writes what became of many attempts, and their log. Returns the messages that were still ours. */
export async function settleMessages(db: Queryable, settlements: readonly Settlement[]): Promise<Set<string>> {
  const { rows } = await run<{ id: string }>(db, {
    name: 'settle-webhooks',
    text: `
      with given as materialized (
        select * from json_to_recordset($1) as g(message uuid, owner uuid, attempt int, state text, "delayMs" bigint, url text, version text, at timestamptz,
          "durationMs" int, status int, error text, "responseHeaders" text, "responseBody" text)
      ), settled as (
        update webhook_message m set state = g.state, due_at = coalesce(now() + g."delayMs" * interval '1 millisecond', m.due_at),
          lease_owner = null, lease_until = null
        from given g
        where m.id = g.message and m.state = 'sending' and m.lease_owner = g.owner and m.attempt = g.attempt
        returning m.id, m.endpoint_id
      ), logged as (
        insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, status, error, response_headers, response_body)
        select s.endpoint_id, s.id, g.attempt, g.url, g.version, g.at, g."durationMs", g.status, g.error, g."responseHeaders", g."responseBody"
        from given g join settled s on s.id = g.message
      )
      select id from settled`,
    values: [JSON.stringify(settlements)],
  })
  return new Set(rows.map(row => row.id))
}

/** Holds messages for longer, while they are still held: a lease that ran out is another worker's to take. Returns those held. */
export async function renewMessages(db: Queryable, messages: readonly MessageFence[], leaseMs: number): Promise<Set<string>> {
  const { rows } = await run<{ id: string }>(
    db,
    `update webhook_message m set lease_until = now() + $4 * interval '1 millisecond'
     from unnest($1::uuid[], $2::uuid[], $3::int[]) as g(id, owner, attempt)
     where m.id = g.id and m.state = 'sending' and m.lease_owner = g.owner and m.attempt = g.attempt and m.lease_until > now()
     returning m.id`,
    [...columnsOf(messages), leaseMs],
  )
  return new Set(rows.map(row => row.id))
}

const columnsOf = (messages: readonly MessageFence[]) => [
  messages.map(({ message }) => message),
  messages.map(({ owner }) => owner),
  messages.map(({ attempt }) => attempt),
]

/** Gives back what was claimed and not tried. */
export async function releaseMessages(db: Queryable, messages: readonly MessageFence[]): Promise<void> {
  await run(
    db,
    `update webhook_message m set state = 'queued', attempt = m.attempt - 1, lease_owner = null, lease_until = null
     from unnest($1::uuid[], $2::uuid[], $3::int[]) as g(id, owner, attempt)
     where m.id = g.id and m.state = 'sending' and m.lease_owner = g.owner and m.attempt = g.attempt`,
    columnsOf(messages),
  )
}

/** Takes up what dead workers held: whether it arrived nobody knows, and a double under the same id is harmless. */
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

/** What waits for its next try goes now: these endpoints work again. */
export async function hastenMessages(db: Queryable, endpoints: readonly string[]): Promise<void> {
  await run(
    db,
    "update webhook_message set due_at = now() where endpoint_id = any($1::uuid[]) and state = 'queued' and due_at > now()",
    [endpoints],
  )
}
