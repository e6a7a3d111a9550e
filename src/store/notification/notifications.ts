import type { Acceptance } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import { recordAudit } from '../audit.js'
import { lockLines, markAccepted } from '../bulk/line-acceptance.js'
import { ensureMonths } from '../migrate.js'
import { nameWithin, recentMonthsOfIds, withinMonths } from '../months.js'
import {
  deleteInBatches,
  execute,
  isMissingPartition,
  type Pool,
  type Queryable,
  queryRow,
  queryValue,
  queryValues,
  rehearse,
  run,
  runOnce,
  transaction,
} from '../postgres.js'

/**
 * Writes a group of accepted requests: notifications, attachments, deliveries, first events and idempotency keys, in one
 * statement and so in one transaction and one round trip. Returns the ids written; a request is missing from them only when its
 * idempotency key belongs to an earlier one, or when its account was edited since its deliveries were planned.
 */
export async function insertAcceptances(pool: Pool, group: readonly Acceptance[]): Promise<Set<string>> {
  const isAlone = group.every(({ actor, line }) => actor === undefined && line === undefined)
  const refused = await withMonths(pool, () =>
    isAlone ? runOnce<{ id: string }>(pool, acceptQuery(group)) : transaction(pool, db => insertAlongside(db, group)),
  )
  const keptOut = new Set(refused.map(({ id }) => id))
  return new Set(group.map(item => item.id).filter(id => !keptOut.has(id)))
}

/**
 * By the transaction that accepts them, a person's sends are in the log of actions, and the lines of batches are accepted: a line that
 * another node accepted, or whose batch was paused, is refused.
 */
async function insertAlongside(db: Queryable, group: readonly Acceptance[]): Promise<{ id: string }[]> {
  const open = await lockLines(db, group)
  const asked = group.filter(item => open.has(item.id))
  const { rows } = await run<{ id: string }>(db, acceptQuery(asked))
  const refused = [...rows, ...group.filter(item => !open.has(item.id)).map(({ id }) => ({ id }))]
  const keptOut = new Set(refused.map(({ id }) => id))
  const written = group.filter(({ id }) => !keptOut.has(id))
  await markAccepted(db, written)
  for (const { id, account, mode, actor, deliveries } of written) {
    const detail = { account, mode, channels: deliveries.map(({ channel }) => channel) }
    if (actor !== undefined) await recordAudit(db, { actor, action: 'send notification', subject: id, detail })
  }
  return refused
}

/** Partitions are made three months ahead; a node that was suspended for longer has none. */
const withMonths = <T>(pool: Pool, write: () => Promise<T>): Promise<T> =>
  write().catch(async error => {
    if (!isMissingPartition(error)) throw error
    await ensureMonths(pool)
    return write()
  })

/** Writes a group and undoes it. A lock that is held for longer than a moment stops it. */
export const rehearseAcceptances = (pool: Pool, group: readonly Acceptance[]): Promise<void> =>
  withMonths(pool, () =>
    rehearse(pool, async db => {
      await execute(db, "set local lock_timeout = '1s'")
      await run(db, acceptQuery(group))
    }),
  )

const acceptQuery = (group: readonly Acceptance[]) => ({
  name: 'accept',
  text: ACCEPT,
  values: [notificationRows(group), deliveryRows(group), attachmentRows(group)],
})

/** Which of these notifications exist. */
export const findWritten = async (db: Queryable, ids: readonly string[]): Promise<Set<string>> => {
  const months = recentMonthsOfIds(ids)
  return new Set(
    await queryValues<string>(db, {
      name: nameWithin(months, 'find-written'),
      text: `select id from notification where id = any($1::uuid[]) and ${withinMonths(months, 'id')}`,
      values: [ids],
    }),
  )
}

/**
 * Each kind of row is one JSON array. One array per column would cost the API half as much processor time again (bench/accept/accept.ts),
 * because the driver quotes every element separately; and the API's processor is the first limit.
 */
const ACCEPT = `
  with asked as materialized (
    select * from json_to_recordset($1) as a(id uuid, account uuid, mode text, at timestamptz, "customId" text, "recipientName" text,
      subject text, content text, validation jsonb, "sendAt" timestamptz, data jsonb, salt text, commit text, prev text, hash text, key text, "bodySha256" text,
      "rulesRevision" bigint, bulk boolean)
  ), outdated as materialized (
    -- In the statement that writes: an edit that was committed before the request came is in its snapshot, on every node.
    -- By a look-up for each send: a join would read every account.
    select id from asked q where "rulesRevision" <> (select revision from account a where a.id = q.account)
  ), keys as (
    insert into idempotency as i (account_id, mode, key, body_sha256, notification_id, created_at)
    -- In one order everywhere: two nodes that write the same keys in opposite order would deadlock.
    select account, mode, key, decode("bodySha256", 'hex'), id, now() from asked
    where key is not null and id not in (select id from outdated) order by account, mode, key
    on conflict (account_id, mode, key) do update
      set body_sha256 = excluded.body_sha256, notification_id = excluded.notification_id, created_at = excluded.created_at
      where i.created_at < now() - interval '24 hours'
    returning notification_id
  ), refused as materialized (
    select id from outdated
    union
    select id from asked where key is not null and id not in (select notification_id from keys)
  ), input as materialized (
    select * from asked where id not in (select id from refused)
  ), notifications as (
    insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, subject, content, validation, send_at)
    select id, account, mode, at, "customId", "recipientName", subject, content, validation, "sendAt" from input
  ), events as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select id, 1, at, 'accepted', 'api', data, decode(salt, 'hex'), decode(commit, 'hex'), decode(prev, 'hex'), decode(hash, 'hex') from input
  ), deliveries as (
    insert into delivery (notification_id, channel, account_id, mode, state, due_at, step, condition, recipient, request, template_id, template_version, bound_cost, bulk)
    select id, d.channel, account, mode, d.state, now() + d."waitMs" * interval '1 millisecond', d.step, d.condition, d.recipient,
      d.request, (d.template ->> 'id')::uuid, (d.template ->> 'version')::int, d."boundCost", coalesce(bulk, false)
    from json_to_recordset($2) as d(id uuid, channel text, state text, "waitMs" bigint, step int, condition text, recipient text,
      request jsonb, template json, "boundCost" numeric)
    join input using (id)
  ), tallies as (
    insert into delivery_tally (mode, hour, account_id, channel, accepted)
    select mode, date_trunc('hour', at), account, d.channel, count(*)
    from json_to_recordset($2) as d(id uuid, channel text) join input using (id) group by 1, 2, 3, 4
  ), attachments as (
    insert into attachment (notification_id, ordinal, name, sha256, size)
    select id, f.ordinal, f.name, decode(f.sha256, 'hex'), f.size
    from json_to_recordset($3) as f(id uuid, ordinal int, name text, sha256 text, size int)
    join input using (id)
  )
  select id from refused`

const notificationRows = (group: readonly Acceptance[]): string =>
  JSON.stringify(
    group.map(({ id, account, mode, request, validation, event, idempotency, rulesRevision, line }) => {
      const { customId, recipientName, subject, content, sendAt } = request
      const { at, data, commit, prev, hash } = event
      const salt = event.salt.toString('hex')
      const sent = {
        id,
        account,
        mode,
        customId,
        recipientName,
        subject,
        content,
        validation,
        sendAt,
        at,
        data,
        salt,
        commit,
        prev,
        hash,
        rulesRevision,
        ...(line === undefined ? {} : { bulk: true }),
      }
      return idempotency === null ? sent : { ...sent, ...idempotency }
    }),
  )

const deliveryRows = (group: readonly Acceptance[]): string =>
  JSON.stringify(group.flatMap(({ id, deliveries }) => deliveries.map(delivery => ({ id, ...delivery }))))

const attachmentRows = (group: readonly Acceptance[]): string =>
  JSON.stringify(
    group.flatMap(({ id, request }) =>
      request.attachments.map(({ name, sha256, bytes }, index) => ({ id, ordinal: index + 1, name, sha256, size: bytes.length })),
    ),
  )

/** null: erased. */
export const readContent = (db: Queryable, id: string): Promise<string | null> =>
  queryValue(db, { name: 'read-content', text: 'select content from notification where id = $1', values: [id] })

/** The send that a key belongs to, while it is remembered (24 hours). */
export const findKeyUse = (db: Queryable, { account, mode }: Scope, key: string): Promise<KeyUse | null> =>
  queryRow(
    db,
    `select encode(body_sha256, 'hex') as "bodySha256", notification_id as notification from idempotency
     where account_id = $1 and mode = $2 and key = $3 and created_at >= now() - interval '24 hours'`,
    [account, mode, key],
  )

export interface KeyUse {
  bodySha256: string
  notification: string
}

export const deleteExpiredKeys = (db: Queryable): Promise<void> =>
  deleteInBatches(db, 'idempotency', "created_at < now() - interval '24 hours'")
