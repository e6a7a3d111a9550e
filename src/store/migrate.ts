import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { OperatorError } from '../domain/errors.js'
import { sha256 } from '../domain/evidence/evidence.js'
import { admitApplication, isAdmitted } from './application-role.js'
import { runConcurrently } from './concurrent-statements.js'
import { LOCKED, type Pool, type Queryable, queryRow, queryRows, queryValue, queryValues, run, sqlState } from './postgres.js'

const MIGRATIONS = new URL('../../../migrations/', import.meta.url)
/** Other files of the folder are not migrations: schema.sql is generated from them. */
const MIGRATION_NAME = /^\d{4}_.*\.sql$/
/** "-- compatible since 0007": every version that knows migration 7 also runs with this one. Without the line: only versions that know this one. */
const COMPATIBLE_SINCE = /^-- compatible since (\d{4})$/m
const LOCK = 7_261_001
const TURN_MS = 250
const MONTHS_AHEAD = 3

interface Migration {
  number: number
  name: string
  sql: string
  sha256: string
  /** The oldest newest migration of a version that still runs with this one. */
  compatibleSince: number
}

/**
 * How a migration waits for a table that others read or write, such as a pg_dump: only for a moment, because everybody else waits behind
 * it meanwhile, and again and again until it is given up.
 */
interface LockRetries {
  lockMs: number
  /** How long every tenth round waits for a lock. */
  longLockMs: number
  pauseMs: number
  rounds: number
}

export interface MigrateOptions {
  /** The last migration, for a backup of an older version. */
  upTo?: number
  retries?: LockRetries
  /** Other files than those of this version, in tests. */
  folder?: URL
}

/**
 * Half a second: a send that waits for a whole one is no longer ready (readiness), and a group of facts is halved (groupTransaction).
 * PostgreSQL cancels an autovacuum that is in the way only after deadlock_timeout, one second, so every tenth round waits longer.
 */
const RETRIES: LockRetries = { lockMs: 500, longLockMs: 1_200, pauseMs: 2_000, rounds: 400 }

/**
 * With the connections of the owner: brings the schema up to date, and lets the role that the program runs as use it (null: the
 * shared role, which the owner's own connections take on). With the connections of another role: only checks the schema.
 */
export async function migrate(
  pool: Pool,
  application: string | null = null,
  { upTo = Number.POSITIVE_INFINITY, retries = RETRIES, folder = MIGRATIONS }: MigrateOptions = {},
): Promise<string[]> {
  const client = await pool.connect()
  client.on('error', () => {})
  try {
    await client.query('set statement_timeout = 0; set lock_timeout = 0')
    const isOwner = await mayMigrate(client)
    const migrations = (await readMigrations(folder)).filter(({ number }) => number <= upTo)
    let fresh: string[] = []
    // A node that finds everything done starts beside the migration of a newer version, which may take hours, and beside a backup.
    if (!(await isDone(client, migrations, isOwner, application))) {
      await waitForTurn(client)
      fresh = await applyMissing(client, migrations, { isOwner, retries })
      if (isOwner) await admitApplication(client, application, fresh.length > 0)
    }
    const beyond = await findBeyond(client, folder)
    if (beyond !== null) throw new OperatorError(beyond)
    await ensureMonths(client)
    return fresh
  } finally {
    // Closing the connection also releases the lock.
    client.release(true)
  }
}

/** Several nodes may start at once: the first one migrates. A statement that waits for the lock would be a transaction that an index which is built concurrently waits for. */
async function waitForTurn(client: Queryable): Promise<void> {
  while ((await queryValue<boolean>(client, 'select pg_try_advisory_lock($1)', [LOCK])) !== true) await sleep(TURN_MS)
}

type Applied = Pick<Migration, 'number' | 'name' | 'sha256'>

/** Throws where an applied migration differs from ours. */
async function findMissing(db: Queryable, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = await queryRows<Applied>(db, 'select number, name, sha256 from migration')
  const known = new Map(applied.map(migration => [migration.number, migration]))
  for (const { number, name, sha256 } of migrations) {
    const before = known.get(number)
    if (before !== undefined && before.sha256 !== sha256)
      throw new OperatorError(
        `A migração ${name} difere da que criou este banco (${before.name}). Migrações publicadas nunca mudam: instale a versão que criou este banco e atualize a partir dela.`,
      )
  }
  return migrations.filter(({ number }) => !known.has(number))
}

async function isDone(
  db: Queryable,
  migrations: readonly Migration[],
  isOwner: boolean,
  application: string | null,
): Promise<boolean> {
  if ((await queryValue<string>(db, "select to_regclass('public.migration')::text")) === null) return false
  if ((await findMissing(db, migrations)).length > 0) return false
  return !isOwner || isAdmitted(db, application)
}

/**
 * Applies the files of migrations/ in order. Each file is committed together with its record. A file named ….concurrent.sql runs
 * outside a transaction, statement by statement (concurrent-statements.ts), and must be repeatable.
 */
async function applyMissing(
  client: pg.PoolClient,
  migrations: readonly Migration[],
  { isOwner, retries }: { isOwner: boolean; retries: LockRetries },
): Promise<string[]> {
  if (isOwner)
    await client.query(
      `create table if not exists migration (number integer primary key, name text not null, sha256 text not null,
         compatible_since integer not null, applied_at timestamptz not null default now())`,
    )
  const missing = await findMissing(client, migrations)
  for (const migration of missing) {
    if (!isOwner) throw new OperatorError(`Falta aplicar a migração ${migration.name} neste banco. ${OWNER_NEEDED}`)
    await applyWithRetries(client, migration, retries)
  }
  return missing.map(({ name }) => name)
}

/** The migrations of this version that the database lacks. */
export async function findPending(db: Queryable): Promise<string[]> {
  const applied = new Set(await queryValues<number>(db, 'select number from migration'))
  return (await migrationNames(MIGRATIONS)).filter(name => !applied.has(numberOf(name)))
}

/** Why this version cannot run with the schema of a newer version, in Portuguese; null: it can. */
export async function findBeyond(db: Queryable, folder = MIGRATIONS): Promise<string | null> {
  const newest = Math.max(...(await migrationNames(folder)).map(numberOf))
  const name = await queryValue<string>(
    db,
    'select name from migration where number > $1 and compatible_since > $1 order by number limit 1',
    [newest],
  )
  if (name === null) return null
  return `Este banco tem a migração ${name}, que esta versão do Carteiro não conhece e com a qual não funciona. Inicie a versão mais nova.`
}

const OWNER_NEEDED = 'Rode "carteiro migrate" com DATABASE_URL e DATABASE_OWNER_URL, a URL do dono das tabelas.'

const readRights = async (db: Queryable) =>
  (await queryRow<Record<'exists' | 'owns' | 'reads' | 'creates', boolean>>(
    db,
    `select m.oid is not null as exists, coalesce(pg_has_role(m.relowner, 'USAGE'), false) as owns,
       coalesce(has_table_privilege(m.oid, 'select'), false) as reads, has_schema_privilege('public', 'create') as creates
     from (select to_regclass('public.migration') as oid) r left join pg_class m on m.oid = r.oid`,
  ))!

/** Whether this connection owns the tables, or may make them where there are none. */
export async function ownsSchema(db: Queryable): Promise<boolean> {
  const { exists, owns, creates } = await readRights(db)
  return exists ? owns : creates
}

/** Whether this connection may change the schema. False: the schema belongs to another role, and is only read. */
async function mayMigrate(db: Queryable): Promise<boolean> {
  const { exists, owns, reads, creates } = await readRights(db)
  if (exists ? !owns && !reads : !creates)
    throw new OperatorError(`O usuário de DATABASE_URL não tem permissões neste banco. ${OWNER_NEEDED}`)
  return owns || !exists
}

/** The pool's timeout is for requests; the migration of a large table may take longer, and other nodes wait for it. */
const withoutTimeout = (text: string, values: unknown[] = []) => ({ text, values, query_timeout: 2_147_483_647 })

async function applyWithRetries(
  client: pg.PoolClient,
  migration: Migration,
  { lockMs, longLockMs, pauseMs, rounds }: LockRetries,
): Promise<void> {
  for (let round = 1; ; round++) {
    try {
      await client.query(`set lock_timeout = ${round % 10 === 0 ? longLockMs : lockMs}`)
      await apply(client, migration)
      await client.query('set lock_timeout = 0')
      return
    } catch (error) {
      // A statement outside a transaction, or a broken connection, has nothing to roll back.
      await client.query('rollback').catch(() => {})
      // 40P01: a deadlock with a statement of the service that locks the same tables in another order.
      if (![LOCKED, '40P01'].includes(sqlState(error))) throw error
      if (round >= rounds)
        throw new OperatorError(
          `A migração ${migration.name} não conseguiu as travas de que precisa: outra sessão (um pg_dump?) usa as tabelas há muito tempo. Nada mudou. Espere que ela termine e repita.`,
          { cause: error },
        )
      await sleep(pauseMs)
    }
  }
}

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  const { number, name, sql, sha256, compatibleSince } = migration
  const isConcurrent = name.endsWith('.concurrent.sql')
  if (isConcurrent) await runConcurrently((text, values) => client.query(withoutTimeout(text, values)), sql)
  else {
    await client.query('begin')
    await client.query(withoutTimeout(sql))
  }
  await client.query('insert into migration (number, name, sha256, compatible_since) values ($1, $2, $3, $4)', [
    number,
    name,
    sha256,
    compatibleSince,
  ])
  if (!isConcurrent) await client.query('commit')
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  return Promise.all(
    (await migrationNames(folder)).map(async name => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      const number = numberOf(name)
      const compatibleSince = Number(COMPATIBLE_SINCE.exec(sql)?.[1] ?? number)
      return { number, name, sql, sha256: sha256(sql), compatibleSince }
    }),
  )
}

const migrationNames = async (folder: URL): Promise<string[]> =>
  (await readdir(folder)).filter(name => MIGRATION_NAME.test(name)).sort()

const numberOf = (name: string): number => Number(name.slice(0, 4))

/** Creates the partitions of this month, the next ones, and last month for requests that were accepted at its end. */
export async function ensureMonths(db: Queryable): Promise<void> {
  // The lock admits one caller at a time, because two that attach the same month would conflict.
  await run(
    db,
    `with alone as materialized (select pg_advisory_xact_lock($1))
     select ensure_month(date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' + make_interval(months => n))
     from alone, generate_series(-1, $2::int) as n`,
    [LOCK + 1, MONTHS_AHEAD],
  )
}
