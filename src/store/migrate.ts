import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import { OperatorError } from '../domain/errors.js'
import { sha256 } from '../domain/evidence.js'
import { type Pool, type Queryable, queryRows, run } from './postgres.js'

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

export async function migrate(pool: Pool): Promise<string[]> {
  const client = await pool.connect()
  client.on('error', () => {})
  try {
    // When several nodes start at once, the first one migrates and the others wait for the lock.
    await client.query('set statement_timeout = 0; set lock_timeout = 0')
    await client.query(withoutTimeout('select pg_advisory_lock($1)', [LOCK]))
    await client.query(
      'create table if not exists migration (number integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())',
    )
    const applied = await queryRows<Omit<Migration, 'sql'>>(client, 'select number, name, sha256 from migration')
    const known = new Map(applied.map(migration => [migration.number, migration]))
    const fresh: string[] = []
    for (const migration of await readMigrations()) {
      const before = known.get(migration.number)
      if (before === undefined) {
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
    await ensureMonths(client)
    return fresh
  } finally {
    // Closing the connection also releases the lock.
    client.release(true)
  }
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
  const names = (await readdir(MIGRATIONS)).filter(name => MIGRATION_NAME.test(name)).sort()
  return Promise.all(
    names.map(async name => {
      const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
      return { number: Number(name.slice(0, 4)), name, sql, sha256: sha256(sql) }
    }),
  )
}

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
