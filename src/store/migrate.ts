import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import { OperatorError } from '../domain/errors.js'
import { sha256 } from '../domain/evidence.js'
import { admitApplication } from './application-role.js'
import { type Pool, type Queryable, queryRow, queryRows, queryValues, run } from './postgres.js'

/**
 * Applies the files of migrations/ in order. Each file is committed together with its record. A file named ….concurrent.sql runs
 * outside a transaction (create index concurrently) and must be repeatable.
 */
const MIGRATIONS = new URL('../../../migrations/', import.meta.url)
/** Other files of the folder are not migrations: schema.sql is generated from them. */
const MIGRATION_NAME = /^\d{4}_.*\.sql$/
const LOCK = 7_261_001
const MONTHS_AHEAD = 3

interface Migration {
  number: number
  name: string
  sql: string
  sha256: string
}

/**
 * With the connections of the owner: brings the schema up to date, and lets the role that the program runs as use it (null: the
 * shared role, which the owner's own connections take on). With the connections of another role: only checks the schema.
 */
export async function migrate(pool: Pool, application: string | null = null): Promise<string[]> {
  const client = await pool.connect()
  client.on('error', () => {})
  try {
    // When several nodes start at once, the first one migrates and the others wait for the lock.
    await client.query('set statement_timeout = 0; set lock_timeout = 0')
    await client.query(withoutTimeout('select pg_advisory_lock($1)', [LOCK]))
    const isOwner = await mayMigrate(client)
    if (isOwner)
      await client.query(
        'create table if not exists migration (number integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())',
      )
    const applied = await queryRows<Omit<Migration, 'sql'>>(client, 'select number, name, sha256 from migration')
    const known = new Map(applied.map(migration => [migration.number, migration]))
    const fresh: string[] = []
    for (const migration of await readMigrations()) {
      const before = known.get(migration.number)
      if (before === undefined) {
        if (!isOwner) throw new OperatorError(`Falta aplicar a migração ${migration.name} neste banco. ${OWNER_NEEDED}`)
        await apply(client, migration)
        fresh.push(migration.name)
      } else if (before.sha256 !== migration.sha256) {
        throw new OperatorError(
          `A migração ${migration.name} difere da que criou este banco (${before.name}). Migrações publicadas nunca mudam: instale a versão que criou este banco e atualize a partir dela.`,
        )
      }
      known.delete(migration.number)
    }
    const [newer] = known.values()
    if (newer !== undefined) {
      throw new OperatorError(
        `Este banco tem a migração ${newer.name}, que esta versão do Carteiro não conhece. Inicie a versão mais nova.`,
      )
    }
    if (isOwner) await admitApplication(client, application, fresh.length > 0)
    await ensureMonths(client)
    return fresh
  } finally {
    // Closing the connection also releases the lock.
    client.release(true)
  }
}

/** The migrations of this version that the database lacks. */
export async function findPending(db: Queryable): Promise<string[]> {
  const applied = new Set(await queryValues<number>(db, 'select number from migration'))
  return (await migrationNames()).filter(name => !applied.has(numberOf(name)))
}

const OWNER_NEEDED = 'Rode "carteiro migrate" com DATABASE_OWNER_URL, a URL do dono das tabelas.'

/** Whether this connection may change the schema. False: the schema belongs to another role, and is only read. */
async function mayMigrate(db: Queryable): Promise<boolean> {
  const { exists, owns, reads, creates } = (await queryRow<Record<'exists' | 'owns' | 'reads' | 'creates', boolean>>(
    db,
    `select m.oid is not null as exists, coalesce(pg_has_role(m.relowner, 'USAGE'), false) as owns,
       coalesce(has_table_privilege(m.oid, 'select'), false) as reads, has_schema_privilege('public', 'create') as creates
     from (select to_regclass('public.migration') as oid) r left join pg_class m on m.oid = r.oid`,
  ))!
  if (exists ? !owns && !reads : !creates)
    throw new OperatorError(`O usuário de DATABASE_URL não tem permissões neste banco. ${OWNER_NEEDED}`)
  return owns || !exists
}

/** The pool's timeout is for requests; the migration of a large table may take longer, and other nodes wait for it. */
const withoutTimeout = (text: string, values: unknown[] = []) => ({ text, values, query_timeout: 2_147_483_647 })

async function apply(client: pg.PoolClient, { number, name, sql, sha256 }: Migration): Promise<void> {
  const transactional = !name.endsWith('.concurrent.sql')
  if (transactional) await client.query('begin')
  await client.query(withoutTimeout(sql))
  await client.query('insert into migration (number, name, sha256) values ($1, $2, $3)', [number, name, sha256])
  if (transactional) await client.query('commit')
}

async function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    (await migrationNames()).map(async name => {
      const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
      return { number: numberOf(name), name, sql, sha256: sha256(sql) }
    }),
  )
}

const migrationNames = async (): Promise<string[]> => (await readdir(MIGRATIONS)).filter(name => MIGRATION_NAME.test(name)).sort()

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
