import type { Mode } from '../../domain/access/token.js'
import type { JsonObject } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { BatchState, ExpiredWhile, Mapping, PausedBecause } from '../../domain/send/bulk.js'
import { deleteInBatches, execute, filterBy, matchesRow, type Queryable, queryRow, queryRows } from '../postgres.js'
import type { Line } from './lines.js'

export interface Batch extends Scope {
  id: string
  name: string
  state: BatchState
  sha256: string | null
  columns: string[]
  mapping: Mapping
  base: JsonObject
  starts: boolean
  checkedTo: number
  total: number
  good: number
  rejected: number
  accepted: number
  failed: number
  token: string
  address: string
  createdBy: string
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** null: it is not paused, or did not pause by itself. */
  pausedBecause: PausedBecause | null
  /** null: it did not end by itself. */
  expiredWhile: ExpiredWhile | null
  erasedAt: Date | null
  /** Lines that were accepted or failed since it was last resumed, and for how long. */
  recentLines: number
  recentMs: number | null
}

const COLUMNS = `b.id, b.account_id as account, b.mode, b.name, b.state, encode(b.sha256, 'hex') as sha256, b.columns, b.mapping, b.base, b.starts,
  b.checked_to as "checkedTo", b.total, b.good, b.rejected, b.accepted, b.failed, b.token, b.address, b.created_by as "createdBy",
  b.created_at as "createdAt", b.started_at as "startedAt", b.finished_at as "finishedAt", b.paused_because as "pausedBecause", b.expired_while as "expiredWhile", b.erased_at as "erasedAt",
  b.accepted + b.failed - b.resumed_at_line as "recentLines",
  (extract(epoch from now() - b.resumed_at) * 1000)::float8 as "recentMs"`

export interface NewBatch extends Scope {
  id: string
  name: string
  base: JsonObject
  starts: boolean
  token: string
  address: string
  createdBy: string
}

export const insertBatch = (db: Queryable, batch: NewBatch): Promise<void> =>
  execute(
    db,
    `insert into bulk_batch (id, account_id, mode, name, state, base, starts, token, address, created_by)
     values ($1, $2, $3, $4, 'receiving', $5, $6, $7, $8, $9)`,
    [
      batch.id,
      batch.account,
      batch.mode,
      batch.name,
      JSON.stringify(batch.base),
      batch.starts,
      batch.token,
      batch.address,
      batch.createdBy,
    ],
  )

/** The whole file has arrived: its lines may be checked. */
export const completeBatch = (
  db: Queryable,
  id: string,
  { sha256, columns, mapping, total }: { sha256: string; columns: readonly string[]; mapping: Mapping; total: number },
): Promise<boolean> =>
  matchesRow(
    db,
    `update bulk_batch set state = 'checking', sha256 = decode($2, 'hex'), columns = $3, mapping = $4, total = $5
     where id = $1 and state = 'receiving'`,
    [id, sha256, JSON.stringify(columns), JSON.stringify(mapping), total],
  )

/** Deletes an upload that is not to become a batch, with its lines. One that became a batch meanwhile stays. */
export const deleteUpload = (db: Queryable, id: string): Promise<void> =>
  execute(db, "delete from bulk_batch where id = $1 and state = 'receiving'", [id])

/** Deletes a batch, unless it is to start, or somebody started it meanwhile. */
export const deleteUnstarted = (db: Queryable, id: string): Promise<void> =>
  execute(db, "delete from bulk_batch where id = $1 and started_at is null and not starts and state in ('checking', 'checked')", [
    id,
  ])

export const findBatch = (db: Queryable, { account, mode }: Scope, id: string): Promise<Batch | null> =>
  queryRow(db, `select ${COLUMNS} from bulk_batch b where b.id = $1 and b.account_id = $2 and b.mode = $3`, [id, account, mode])

/** The same, and nobody changes it until the transaction ends. */
export const lockBatch = (db: Queryable, { account, mode }: Scope, id: string): Promise<Batch | null> =>
  queryRow(db, `select ${COLUMNS} from bulk_batch b where b.id = $1 and b.account_id = $2 and b.mode = $3 for no key update`, [
    id,
    account,
    mode,
  ])

/** The batch of a file under a name, unless it was cancelled. */
export const findBatchOfFile = (db: Queryable, { account, mode }: Scope, name: string, sha256: string): Promise<Batch | null> =>
  queryRow(
    db,
    `select ${COLUMNS} from bulk_batch b
     where b.account_id = $1 and b.mode = $2 and b.name = $3 and b.sha256 = decode($4, 'hex') and b.state <> 'cancelled'`,
    [account, mode, name, sha256],
  )

/** The last batch that `by` made of a file under a name within so many milliseconds, if it was cancelled. */
export const findCancelledOfFile = (
  db: Queryable,
  { account, mode }: Scope,
  { name, sha256, by, withinMs }: { name: string; sha256: string; by: string; withinMs: number },
): Promise<Batch | null> =>
  queryRow(
    db,
    `select ${COLUMNS} from bulk_batch b
     where b.account_id = $1 and b.mode = $2 and b.name = $3 and b.sha256 = decode($4, 'hex') and b.state = 'cancelled'
       and b.created_by = $5 and b.created_at >= now() - $6 * interval '1 millisecond'
     order by b.id desc limit 1`,
    [account, mode, name, sha256, by, withinMs],
  )

/** Newest first, below the batch `before`. Those that are still arriving are not shown. */
export const listBatches = (
  db: Queryable,
  { accounts, mode, before, limit }: { accounts: readonly string[]; mode: Mode; before: string | null; limit: number },
): Promise<Batch[]> =>
  queryRows(
    db,
    `select ${COLUMNS} from bulk_batch b
     where b.account_id = any($1::uuid[]) and b.mode = $2 and ${filterBy('$3::uuid', before, 'b.id < $3')} and b.state <> 'receiving'
     order by b.id desc limit $4`,
    [accounts, mode, before, limit],
  )

/** A batch that a person goes on with, or cancels, because the database is a copy. */
export interface StoppedBatch extends Pick<Batch, 'id' | 'mode' | 'name' | 'state' | 'createdAt'> {
  account: string
  /** Good lines that the copy has as not sent. */
  open: number
}

/** The oldest first. Files of the folder start by themselves, unless they are older than the restoration. */
export const listStopped = (db: Queryable): Promise<StoppedBatch[]> =>
  queryRows(
    db,
    `select b.id, a.name as account, b.mode, b.name, b.state, b.good - b.accepted - b.failed as open, b.created_at as "createdAt"
     from bulk_batch b join account a on a.id = b.account_id
     where exists (select from restoration where last_code is not null)
       and (b.state = 'paused' or b.state = 'checked' and b.created_by = 'folder' and b.good > 0)
     order by b.id limit 1000`,
  )

/** Checks all lines again, with other columns or another message. The batch does not start by itself after the check. */
export const restartCheck = (db: Queryable, id: string, { mapping, base }: Pick<Batch, 'mapping' | 'base'>): Promise<void> =>
  execute(
    db,
    `update bulk_batch set state = 'checking', mapping = $2, base = $3, checked_to = 0, good = 0, rejected = 0, starts = false where id = $1`,
    [id, JSON.stringify(mapping), JSON.stringify(base)],
  )

/** The token and the address of the request that starts a batch are recorded as the sender of its notifications. */
export const startBatch = (db: Queryable, id: string, { token, address }: Pick<Batch, 'token' | 'address'>): Promise<void> =>
  execute(
    db,
    `update bulk_batch set state = 'sending', token = $2, address = $3, started_at = coalesce(started_at, now()), next_at = now(),
       resumed_at = now(), resumed_at_line = accepted + failed, paused_at = null, paused_because = null
     where id = $1`,
    [id, token, address],
  )

/** Sending begins as soon as the check ends. */
export const startWhenChecked = (
  db: Queryable,
  id: string,
  { token, address }: Pick<Batch, 'token' | 'address'>,
): Promise<void> =>
  execute(db, 'update bulk_batch set starts = true, token = $2, address = $3 where id = $1', [id, token, address])

export const setBatchState = (db: Queryable, id: string, state: 'paused' | 'cancelled' | 'checked'): Promise<void> =>
  execute(
    db,
    `update bulk_batch set state = $2, starts = false, resumed_at = null, finished_at = case when $2 = 'cancelled' then now() end,
       paused_at = case when $2 = 'paused' then now() end, paused_because = null
     where id = $1`,
    [id, state],
  )

/** A batch that is being sent pauses by itself, until somebody resumes it. */
export const pauseBecause = (db: Queryable, id: string, reason: PausedBecause): Promise<void> =>
  execute(
    db,
    `update bulk_batch set state = 'paused', resumed_at = null, paused_at = now(), paused_because = $2
     where id = $1 and state = 'sending'`,
    [id, reason],
  )

/** Batches whose lines are to be checked. */
export const listUnchecked = (db: Queryable, limit: number): Promise<{ id: string }[]> =>
  queryRows(db, {
    name: 'list-unchecked-batches',
    text: "select id from bulk_batch where state = 'checking' order by started_at limit $1",
    values: [limit],
  })

/** null: another node is checking some of its lines, or all are checked. */
export const lockUnchecked = (db: Queryable, id: string): Promise<Batch | null> =>
  queryRow(db, `select ${COLUMNS} from bulk_batch b where b.id = $1 and b.state = 'checking' for no key update skip locked`, [id])

/** The batches that are being sent, one for each account and mode (the one that was started first), and when each has its next turn. */
export const listSending = (db: Queryable, limit: number): Promise<(Batch & { dueInMs: number })[]> =>
  queryRows(db, {
    name: 'list-sending-batches',
    text: `select ${COLUMNS}, greatest(0, extract(epoch from b.next_at - now()) * 1000)::float8 as "dueInMs" from (
             select distinct on (account_id, mode) * from bulk_batch where state = 'sending' order by account_id, mode, started_at, id
           ) b order by b.next_at limit $1`,
    values: [limit],
  })

export interface BatchTurn {
  /** The last line of the turn before. */
  after: number
  /** Empty: no good line comes after that one. The next turn begins with the first line again, for lines that were left good. */
  lines: Line[]
}

/**
 * Books the next lines of a batch and the time of its next turn, `waitMs` after this one. A turn that is late catches up by one second at
 * most. null: another node booked it, or the batch is no longer being sent.
 */
export const takeBatchTurn = (db: Queryable, id: string, count: number, waitMs: number): Promise<BatchTurn | null> =>
  queryRow(db, {
    name: 'take-bulk-turn',
    text: `with turn as materialized (
             select id, turned_to from bulk_batch where id = $1 and state = 'sending' and next_at <= now() for no key update
           ), lines as materialized (
             select line, cells from bulk_line
             where batch_id = $1 and state = 'good' and line > (select turned_to from turn) order by line limit $2
           ), booked as (
             update bulk_batch b set next_at = greatest(next_at, now() - interval '1 second') + $3 * interval '1 millisecond',
               turned_to = coalesce((select max(line) from lines), 0)
             from turn t where b.id = t.id returning t.turned_to
           )
           select turned_to as after,
             coalesce((select jsonb_agg(jsonb_build_object('line', line, 'cells', cells) order by line) from lines), '[]') as lines
           from booked`,
    values: [id, count, waitMs],
  })

/** Ends a batch that has no line left to send. */
export const finishBatch = (db: Queryable, id: string): Promise<boolean> =>
  matchesRow(
    db,
    `update bulk_batch b set state = 'done', finished_at = now(), resumed_at = null where id = $1 and state = 'sending'
       and not exists (select from bulk_line l where l.batch_id = b.id and l.state = 'good')`,
    [id],
  )

/** Uploads that broke off. */
export const deleteLostUploads = (db: Queryable): Promise<void> =>
  deleteInBatches(db, 'bulk_batch', "state = 'receiving' and created_at < now() - interval '1 hour'", 'id')

/** Cancels batches that were paused, or received and never started, for that many days. Runs before their lines are erased, so that nobody resumes a batch without lines. */
export const cancelExpired = (db: Queryable, days: number): Promise<void> =>
  execute(
    db,
    `update bulk_batch set expired_while = state, state = 'cancelled', starts = false, paused_because = null, resumed_at = null, finished_at = now()
     where erased_at is null and created_at < now() - $1 * interval '1 day'
       and (state = 'checked' or (state = 'paused' and paused_at < now() - $1 * interval '1 day'))`,
    [days],
  )

/** Batches that ended that many days ago, or expired: their lines are to be erased. */
export const listExpired = (db: Queryable, days: number, limit: number): Promise<{ id: string }[]> =>
  queryRows(
    db,
    `select id from bulk_batch where erased_at is null and created_at < now() - $1 * interval '1 day'
       and (expired_while is not null or finished_at < now() - $1 * interval '1 day') order by created_at limit $2`,
    [days, limit],
  )

export const markErased = (db: Queryable, id: string): Promise<void> =>
  execute(db, 'update bulk_batch set erased_at = now() where id = $1', [id])
