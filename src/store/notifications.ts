import type { Acceptance } from '../domain/notification.js'
import { ensureMonths } from './migrate.js'
import { isMissingPartition, type Pool, type Queryable, run } from './postgres.js'

/**
 * Writes a group of accepted requests: notifications, attachments, deliveries and first events, in one statement and so
 * in one transaction and one round trip. Returns the ids written; a request is missing from them only when its
 * idempotency key belongs to an earlier one.
 */
export async function insertAcceptances(pool: Pool, group: readonly Acceptance[]): Promise<Set<string>> {
  const keyed = group.some(item => item.idempotency !== null)
  const query = {
    name: keyed ? 'accept-keyed' : 'accept',
    text: keyed ? ACCEPT_KEYED : ACCEPT,
    values: [...columns(group), ...(keyed ? keyColumns(group) : [])],
  }
  try {
    const { rows } = await run<{ id: string }>(pool, query)
    return new Set(rows.map(row => row.id))
  } catch (error) {
    if (!isMissingPartition(error)) throw error
    // Months are made ahead; a node that slept through three of them makes up for it here.
    await ensureMonths(pool)
    const { rows } = await run<{ id: string }>(pool, query)
    return new Set(rows.map(row => row.id))
  }
}

/** Which of these notifications exist. */
export async function findWritten(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await run<{ id: string }>(db, 'select id from notification where id = any($1::uuid[])', [ids])
  return new Set(rows.map(row => row.id))
}

const acceptStatement = (keyed: boolean): string => `
  with asked as materialized (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
      as t(id, account_id, mode, accepted_at, custom_id, recipient_name, recipient_email, subject, content, validation,
        event_data, event_salt, event_hashes)
  ), ${
    keyed
      ? `keys as (
    insert into idempotency as i (account_id, key, body_sha256, notification_id, created_at)
    select account_id, key, decode(body, 'hex'), id, now() from unnest($30::uuid[], $31::text[], $32::text[], $33::uuid[]) as k(account_id, key, body, id)
    on conflict (account_id, key) do update
      set body_sha256 = excluded.body_sha256, notification_id = excluded.notification_id, created_at = excluded.created_at
      where i.created_at < now() - interval '24 hours'
    returning notification_id
  ), input as (
    select * from asked where id <> all($33::uuid[]) or id in (select notification_id from keys)
  )`
      : 'input as (select * from asked)'
  }, notifications as (
    insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, recipient_email, subject, content, validation)
    select id, account_id, mode, accepted_at, custom_id, recipient_name, recipient_email, subject, content, validation::jsonb from input
  ), events as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select id, 1, accepted_at, 'accepted', 'api', event_data::jsonb, decode(event_salt, 'hex'),
      decode(substr(event_hashes, 1, 64), 'hex'), decode(substr(event_hashes, 65, 64), 'hex'), decode(substr(event_hashes, 129, 64), 'hex')
    from input
  ), deliveries as (
    insert into delivery (notification_id, channel, account_id, mode, state, due_at, step, condition, recipient, request, template_id, template_version)
    select d.notification_id, d.channel, d.account_id, d.mode, d.state, now() + d.wait_ms * interval '1 millisecond', d.step, d.condition, d.recipient,
      d.request::jsonb, d.template_id, d.template_version
    from unnest($14::uuid[], $15::text[], $16::uuid[], $17::text[], $18::text[], $19::bigint[], $20::int[], $21::text[], $22::text[], $23::text[], $24::uuid[], $25::int[])
      as d(notification_id, channel, account_id, mode, state, wait_ms, step, condition, recipient, request, template_id, template_version)
    ${keyed ? 'where d.notification_id in (select id from input)' : ''}
  ), attachments as (
    insert into attachment (notification_id, ordinal, name, sha256, size)
    select f.notification_id, row_number() over (partition by f.notification_id order by f.place), f.name, decode(f.sha256, 'hex'), f.size
    from unnest($26::uuid[], $27::text[], $28::text[], $29::int[]) with ordinality as f(notification_id, name, sha256, size, place)
    ${keyed ? 'where f.notification_id in (select id from input)' : ''}
  )
  select id from input`

const ACCEPT = acceptStatement(false)
const ACCEPT_KEYED = acceptStatement(true)

function columns(group: readonly Acceptance[]): unknown[] {
  const each = <T>(pick: (item: Acceptance) => T): T[] => group.map(pick)
  const deliveries = group.flatMap(item => item.deliveries.map(delivery => ({ item, delivery })))
  const ofDelivery = <T>(pick: (row: (typeof deliveries)[number]) => T): T[] => deliveries.map(pick)
  const files = group.flatMap(item => item.request.attachments.map(file => ({ id: item.id, file })))
  return [
    each(item => item.id),
    each(item => item.account),
    each(item => item.mode),
    each(item => item.event.at),
    each(item => item.request.customId),
    each(item => item.request.recipientName),
    each(item => item.request.email),
    each(item => item.request.subject),
    each(item => item.request.content),
    each(item => item.validation && JSON.stringify(item.validation)),
    each(item => JSON.stringify(item.event.data)),
    each(item => item.event.salt.toString('hex')),
    each(item => item.event.commit + item.event.prev + item.event.hash),
    ofDelivery(row => row.item.id),
    ofDelivery(row => row.delivery.channel),
    ofDelivery(row => row.item.account),
    ofDelivery(row => row.item.mode),
    ofDelivery(row => row.delivery.state),
    ofDelivery(row => row.delivery.waitMs),
    ofDelivery(row => row.delivery.step),
    ofDelivery(row => row.delivery.condition),
    ofDelivery(row => row.delivery.recipient),
    ofDelivery(row => JSON.stringify(row.delivery.request)),
    ofDelivery(row => row.delivery.template?.id ?? null),
    ofDelivery(row => row.delivery.template?.version ?? null),
    files.map(row => row.id),
    files.map(row => row.file.name),
    files.map(row => row.file.sha256),
    files.map(row => row.file.bytes.length),
  ]
}

function keyColumns(group: readonly Acceptance[]): unknown[] {
  const keyed = group
    .flatMap(item => (item.idempotency === null ? [] : [{ ...item.idempotency, account: item.account, id: item.id }]))
    // Two nodes that write the same keys in opposite order would deadlock.
    .sort((a, b) => (a.account + a.key < b.account + b.key ? -1 : 1))
  return [keyed.map(row => row.account), keyed.map(row => row.key), keyed.map(row => row.bodySha256), keyed.map(row => row.id)]
}
