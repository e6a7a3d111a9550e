import pg from 'pg'
import { OperatorError, StoreUnavailable } from '../../domain/errors.js'
import {
  isLocked,
  LOCKED,
  type Queryable,
  queryRow,
  queryRows,
  queryValue,
  queryValues,
  sqlState,
  withUnknownCommit,
} from '../postgres.js'
import { CLIENT_SOCKET, Servers } from '../servers.js'

/** A table that a backup copies. */
export interface CopiedTable {
  name: string
  columns: string[]
}

export interface CopiedSequence {
  name: string
  value: number
  isCalled: boolean
}

export type BackupConnection = pg.Client

/** For statements that take as long as they take, at the server that accepts writes. */
export async function connectUnhurried(url: string): Promise<BackupConnection> {
  const servers = new Servers(url)
  await servers.ready()
  const client = new pg.Client({ connectionString: servers.url, application_name: 'carteiro backup', ...CLIENT_SOCKET })
  client.on('error', () => {})
  await client.connect()
  await client.query(
    `set timezone = 'UTC'; set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
     set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`,
  )
  return client
}

/** How long a backup waits for a migration or a drop of a month that is at work. */
const SNAPSHOT_LOCK_MS = 30_000
const DEADLOCK = '40P01'
const MISSING_TABLE = '42P01'

/**
 * Everything that a statement on this connection reads from here on is of this moment. Writers go on. A migration or a drop of a month waits
 * from here on: a snapshot says nothing of tables that are dropped or rewritten after it, and their rows would be missing without a word.
 */
export async function beginSnapshot(client: Queryable, { lockMs = SNAPSHOT_LOCK_MS } = {}): Promise<void> {
  const names = await listCopiedNames(client)
  try {
    await queryRows(client, `begin isolation level repeatable read read only; set local lock_timeout = ${lockMs}`)
    // Before the first query, which takes the snapshot. With the partitions of a table.
    await queryRows(client, `lock table ${names.map(quoted).join(', ')} in access share mode`)
    await queryRows(client, 'set local lock_timeout = 0')
    if ((await listCopiedNames(client)).join() === names.join()) return
  } catch (cause) {
    const reason = cause instanceof StoreUnavailable ? sqlState(cause.cause) : ''
    if (![LOCKED, DEADLOCK, MISSING_TABLE].includes(reason)) throw cause
    throw new OperatorError(TABLES_IN_CHANGE, { cause })
  }
  throw new OperatorError(TABLES_IN_CHANGE)
}

const TABLES_IN_CHANGE =
  'Uma migração, ou a retirada de um mês, muda as tabelas neste momento. Nada foi copiado: espere que ela termine e repita.'

/** The migrations say what there is, so their own table is made again; what is not logged does not survive a crash either. */
const COPIED = `c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
  and c.relname <> 'migration'`

/** First the table that a drop of a month locks first: neither holds what the other waits for. */
const listCopiedNames = (db: Queryable): Promise<string[]> =>
  queryValues(db, `select c.relname from pg_class c where ${COPIED} order by c.relname <> 'notification', c.relname`)

/**
 * In the order in which they can be written: a table comes after those that it refers to. A partitioned table is one. Without the numbers
 * of transactions, which belong to one server: the rows get those of the server that they are written to (ADR 14).
 */
export async function listCopiedTables(db: Queryable): Promise<CopiedTable[]> {
  const tables = await queryRows<CopiedTable & { refers: string[] }>(
    db,
    `select c.relname as name,
       array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         and a.attgenerated = '' and not (c.relname = 'event' and a.attname = 'transaction_id') order by a.attnum) as columns,
       array(select t.relname::text from pg_constraint k join pg_class t on t.oid = k.confrelid
         where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as refers
     from pg_class c where ${COPIED} order by c.relname`,
  )
  const ordered: CopiedTable[] = []
  const known = new Set<string>()
  while (ordered.length < tables.length) {
    const ready = tables.filter(({ name, refers }) => !known.has(name) && refers.every(other => known.has(other)))
    if (ready.length === 0) throw new Error('tables refer to each other in a circle')
    for (const { name, columns } of ready) {
      known.add(name)
      ordered.push({ name, columns })
    }
  }
  // Its revision is raised by every write to the tables of accounts.
  return ordered.sort((a, b) => Number(a.name === 'installation') - Number(b.name === 'installation'))
}

/** Bytes on the disk, for the progress. */
export const measureTables = async (db: Queryable): Promise<number> =>
  (await queryValue<number>(
    db,
    `select coalesce(sum(pg_table_size(c.oid)), 0)::float8 from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'`,
  ))!

/** The months that have partitions, as dates. */
export const listMonths = (db: Queryable): Promise<string[]> =>
  queryValues(
    db,
    `select to_char(to_date(right(c.relname, 7), 'YYYY_MM'), 'YYYY-MM-DD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'notification'::regclass order by 1`,
  )

export const listSequences = (db: Queryable): Promise<CopiedSequence[]> =>
  queryRows(
    db,
    `select s.sequencename as name, coalesce(s.last_value, s.start_value)::float8 as value, s.last_value is not null as "isCalled"
     from pg_sequences s where s.schemaname = 'public' order by 1`,
  )

export const listAppliedMigrations = (db: Queryable): Promise<{ number: number; name: string; sha256: string }[]> =>
  queryRows(db, 'select number, name, sha256 from migration order by number')

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const columnsOf = ({ columns }: CopiedTable): string => columns.map(quoted).join(', ')

export const copyOutText = (table: CopiedTable): string =>
  `copy (select ${columnsOf(table)} from ${quoted(table.name)}) to stdout (format binary)`

export const copyInText = (table: CopiedTable): string =>
  `copy ${quoted(table.name)} (${columnsOf(table)}) from stdin (format binary)`

/** What migrations and starts write by themselves, before anybody uses the installation. Of the audit, only what says so. */
const WRITTEN_BY_STARTS = [
  'audit',
  'checkpoint_target',
  'chore_turn',
  'document_certificate',
  'guess_window',
  'home_server',
  'installation',
  'invitation',
  'log_head',
  'log_key',
  'rate_window',
]

/** Of those, the tables with triggers that let nobody delete. */
const KEPT_BY_TRIGGERS = ['audit', 'document_certificate', 'log_key']

/** null: nobody has stored anything in this database, though a node may have started on it. Otherwise how many accounts it has. */
export async function findInstallation(db: Queryable): Promise<{ accounts: number } | null> {
  const row = await queryRow<{ migrated: boolean }>(db, "select to_regclass('public.installation') is not null as migrated")
  if (row?.migrated !== true) return null
  const names = (await listCopiedNames(db)).filter(name => !WRITTEN_BY_STARTS.includes(name))
  const filled = names.map(name => `exists (select from ${quoted(name)})`)
  const isUsed = await queryValue<boolean>(
    db,
    `select ${filled.join(' or ')} or exists (select from audit where actor <> 'start')`,
  )
  return isUsed === true ? queryRow(db, 'select count(*) as accounts from account') : null
}

/** How long a restore waits for the tables that another session writes to. */
const RESTORE_LOCK_MS = 30_000

/** Begins the transaction of a restore, to which alone the tables belong from here on. */
export async function beginRestoring(db: Queryable, tables: readonly CopiedTable[]): Promise<void> {
  const names = tables.map(({ name }) => quoted(name))
  try {
    await queryRows(db, `begin; set local lock_timeout = ${RESTORE_LOCK_MS}`)
    await queryRows(db, `lock table ${names.join(', ')} in exclusive mode`)
    await queryRows(db, 'set local lock_timeout = 0')
  } catch (cause) {
    throw isLocked(cause) ? new OperatorError(TABLES_IN_USE, { cause }) : cause
  }
}

const TABLES_IN_USE =
  'Outra sessão (um psql, um pg_dump?) usa as tabelas deste banco. Nada foi restaurado: espere que ela termine e repita.'

/** Without the rows that migrations and starts write, with the months that the rows of the backup need. */
export async function clearTables(db: Queryable, tables: readonly CopiedTable[], months: readonly string[]): Promise<void> {
  for (const { name } of tables) {
    const isKept = KEPT_BY_TRIGGERS.includes(name)
    if (isKept) await queryRows(db, `alter table ${quoted(name)} disable trigger user`)
    await queryRows(db, `delete from ${quoted(name)}`)
    if (isKept) await queryRows(db, `alter table ${quoted(name)} enable trigger user`)
  }
  for (const month of months) await queryRows(db, 'select ensure_month($1::date::timestamptz)', [month])
}

/** The log reads its events again, passing over those that it has: their transactions have other numbers on this server. */
export async function finishTables(db: Queryable, sequences: readonly CopiedSequence[]): Promise<void> {
  for (const { name, value, isCalled } of sequences)
    await queryRows(db, 'select setval($1::regclass, $2::bigint, $3)', [quoted(name), value, isCalled])
  await queryRows(db, 'update log_head set transaction_id = null, notification_id = null, seq = null, server = null')
}

/**
 * With statistics of what was restored: without them the server plans for empty tables, until it looks at each of them by itself. Where the
 * answer to the commit is lost, StoreUnavailable says so.
 */
export const commitRestoring = async (db: Queryable): Promise<void> => {
  await queryRows(db, 'analyze')
  await queryRows(db, 'commit').catch(error => {
    throw withUnknownCommit(error)
  })
}
