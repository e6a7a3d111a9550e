import { type AuditRow, auditHash } from '../domain/evidence/audit-chain.js'
import type { Json } from '../domain/evidence/canonical-json.js'
import { GENESIS } from '../domain/evidence/evidence.js'
import { execute, filterBy, isPool, type Queryable, queryRow, queryRows, type Transaction } from './postgres.js'

export interface AuditEntry {
  actor: string
  action: string
  subject: string
  detail?: Record<string, unknown>
}

/** The key of the lock under which writers of the chain take turns. */
const TURN = 740_017

/** Adds an entry to the chain. Inside the transaction of the act itself: its lock must last until the commit. */
export async function recordAudit(db: Transaction, { actor, action, subject, detail = {} }: AuditEntry): Promise<void> {
  // The lock would end with its statement, and two writers would take the same id.
  if (isPool(db)) throw new Error('an entry of the log of actions is written in a transaction')
  await execute(db, 'select pg_advisory_xact_lock($1)', [TURN])
  // A statement of its own: its snapshot must be taken once the lock is held.
  const head = await queryRow<{ now: Date; id: number | null; hash: string | null }>(
    db,
    `select clock_timestamp() as now, a.id, encode(a.hash, 'hex') as hash
     from (select) nothing left join (select id, hash from audit order by id desc limit 1) a on true`,
  )
  const { now, id, hash } = head!
  // Through JSON: dates become the texts that the database stores.
  const storedDetail = JSON.parse(JSON.stringify(detail)) as { [member: string]: Json }
  const row = { id: (id ?? 0) + 1, at: now.toISOString(), actor, action, subject, detail: storedDetail, prev: hash ?? GENESIS }
  await execute(
    db,
    `insert into audit (id, at, actor, action, subject, detail, prev, hash)
     values ($1, $2, $3, $4, $5, $6, decode($7, 'hex'), decode($8, 'hex'))`,
    [row.id, row.at, actor, action, subject, JSON.stringify(storedDetail), row.prev, auditHash(row)],
  )
}

const COLUMNS = `id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, actor, action, subject, detail,
  encode(prev, 'hex') as prev, encode(hash, 'hex') as hash`

export interface AuditFilter {
  /** Below this id. */
  before?: number | null
  actor?: string | null
  /** An action, or its first word: 'token' finds 'token issue' and 'token revoke'. */
  action?: string | null
  since?: Date | null
  until?: Date | null
  limit: number
}

/** Newest first. What is null is not asked for. */
export const listAudit = (
  db: Queryable,
  { before = null, actor = null, action = null, since = null, until = null, limit }: AuditFilter,
): Promise<AuditRow[]> =>
  queryRows(
    db,
    `select ${COLUMNS} from audit where ${filterBy('$1::bigint', before, 'id < $1')} and ${filterBy('$2::text', actor, 'actor = $2')}
       and ${filterBy('$3::text', action, "(action = $3 or starts_with(action, $3 || ' '))")}
       and ${filterBy('$4::timestamptz', since, 'at >= $4')} and ${filterBy('$5::timestamptz', until, 'at < $5')}
     order by id desc limit $6`,
    [before, actor, action, since, until, limit],
  )

/** The rows after this id, oldest first. */
export const readAudit = (db: Queryable, after: number, limit: number): Promise<AuditRow[]> =>
  queryRows(db, `select ${COLUMNS} from audit where id > $1 order by id limit $2`, [after, limit])
