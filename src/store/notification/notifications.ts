import type { Acceptance, PlannedDelivery } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { Attachment } from '../../domain/send/attachment.js'
import { recordAudit } from '../audit.js'
import { lockLines, markAccepted } from '../bulk/line-acceptance.js'
import { type Columns, column, columnValues, decimalColumn, hexColumn, selectInTurn } from '../columns.js'
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

const sends: Columns<Acceptance> = {
  id: column('uuid', ({ id }) => id),
  account: column('uuid', ({ account }) => account),
  mode: column('text', ({ mode }) => mode),
  at: column('timestamptz', ({ event }) => event.at),
  customId: column('text', ({ request }) => request.customId),
  recipientName: column('text', ({ request }) => request.recipientName),
  subject: column('text', ({ request }) => request.subject),
  content: column('text', ({ request }) => request.content),
  validation: column('jsonb', ({ validation }) => validation && JSON.stringify(validation)),
  sendAt: column('timestamptz', ({ request }) => request.sendAt),
  data: column('jsonb', ({ event }) => JSON.stringify(event.data)),
  salt: column('bytea', ({ event }) => event.salt),
  commit: hexColumn(({ event }) => event.commit),
  prev: hexColumn(({ event }) => event.prev),
  hash: hexColumn(({ event }) => event.hash),
  key: column('text', ({ idempotency }) => idempotency?.key),
  bodySha256: hexColumn(({ idempotency }) => idempotency?.bodySha256),
  rulesRevision: column('bigint', ({ rulesRevision }) => rulesRevision),
  bulk: column('boolean', ({ line }) => (line === undefined ? null : true)),
}

const plans: Columns<PlannedDelivery & { id: string }> = {
  id: column('uuid', ({ id }) => id),
  channel: column('text', ({ channel }) => channel),
  state: column('text', ({ state }) => state),
  waitMs: column('bigint', ({ waitMs }) => waitMs),
  step: column('int', ({ step }) => step),
  condition: column('text', ({ condition }) => condition),
  recipient: column('text', ({ recipient }) => recipient),
  request: column('jsonb', ({ request }) => JSON.stringify(request)),
  template: column('uuid', ({ template }) => template?.id),
  templateVersion: column('int', ({ template }) => template?.version),
  boundCost: decimalColumn(({ boundCost }) => boundCost),
}

const files: Columns<Omit<Attachment, 'bytes'> & { id: string; ordinal: number; size: number }> = {
  id: column('uuid', ({ id }) => id),
  ordinal: column('int', ({ ordinal }) => ordinal),
  name: column('text', ({ name }) => name),
  sha256: hexColumn(({ sha256 }) => sha256),
  size: column('int', ({ size }) => size),
}

const [sendRows, planRows, fileRows] = selectInTurn([sends, plans, files])

const acceptQuery = (group: readonly Acceptance[]) => ({
  name: 'accept',
  text: ACCEPT,
  values: [
    ...columnValues(sends, group),
    ...columnValues(plans, group.flatMap(plansOf)),
    ...columnValues(files, group.flatMap(filesOf)),
  ],
})

const plansOf = ({ id, deliveries }: Acceptance) => deliveries.map(delivery => ({ id, ...delivery }))

const filesOf = ({ id, request }: Acceptance) =>
  request.attachments.map(({ name, sha256, bytes }, index) => ({ id, ordinal: index + 1, name, sha256, size: bytes.length }))

const ACCEPT = `
  with asked as materialized (
    ${sendRows}
  ), outdated as materialized (
    -- In the statement that writes: an edit that was committed before the request came is in its snapshot, on every node.
    -- By a look-up for each send: a join would read every account.
    select id from asked q where "rulesRevision" <> (select revision from account a where a.id = q.account)
  ), keys as (
    insert into idempotency as i (account_id, mode, key, body_sha256, notification_id, created_at)
    -- In one order everywhere: two nodes that write the same keys in opposite order would deadlock.
    select account, mode, key, "bodySha256", id, now() from asked
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
    select id, 1, at, 'accepted', 'api', data, salt, commit, prev, hash from input
  ), plans as materialized (
    select p.*, account, mode, at, bulk, "customId" from (${planRows}) p join input using (id)
  ), deliveries as (
    insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, custom_id, step, condition, recipient, request, template_id, template_version, bound_cost, bulk)
    select id, channel, account, mode, state, now() + "waitMs" * interval '1 millisecond', at, "customId", step, condition, recipient,
      request, template, "templateVersion", "boundCost", coalesce(bulk, false)
    from plans
  ), tallies as (
    insert into delivery_tally (mode, hour, account_id, channel, accepted)
    select mode, date_trunc('hour', at), account, channel, count(*) from plans group by 1, 2, 3, 4
  ), attachments as (
    insert into attachment (notification_id, ordinal, name, sha256, size)
    select id, f.ordinal, f.name, f.sha256, f.size from (${fileRows}) f join input using (id)
  )
  select id from refused`

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
  deleteInBatches(db, 'idempotency', "created_at < now() - interval '24 hours'", 'created_at')
