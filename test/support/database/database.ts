import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import type { ObjectStore } from '../../../src/runtime/objects/object-store.js'
import { openPool, type Pool } from '../../../src/store/postgres.js'
import { withDatabase } from '../global-setup.js'

export interface TestDatabase {
  /** The program's role, which cannot change the history. */
  url: string
  pool: Pool
  /** The owner of the tables. */
  ownerUrl: string
  /** What the program's role may not do: statements of the owner, and of a superuser whom no trigger stops. */
  asOwner(sql: string, values?: unknown[]): Promise<pg.QueryResult>
  tamper(sql: string, values?: unknown[]): Promise<pg.QueryResult>
  drop(): Promise<void>
}

/** A fresh database, cloned from the migrated template; `files`: what FILES_URL names. Call once per test file (beforeAll) and drop it (afterAll). */
export const createDatabase = (files: ObjectStore | null = null): Promise<TestDatabase> =>
  cloneDatabase('template_carteiro', files)

const OWN_HOME = `update home_server set installation = gen_random_uuid(),
  database = (select oid from pg_database where datname = current_database())`

async function cloneDatabase(template: string, files: ObjectStore | null = null): Promise<TestDatabase> {
  const server = inject('server')
  const name = `test_${randomBytes(6).toString('hex')}`
  await command(server.adminUrl, `create database ${name} owner carteiro template ${template} strategy file_copy`)
  const [url, ownerUrl, adminUrl] = [server.url, server.ownerUrl, server.adminUrl].map(address => withDatabase(address, name))
  // A clone is a copy of its template, and a copy sends nothing: this one is an installation of its own.
  if (template === 'template_carteiro') await command(adminUrl!, OWN_HOME)
  // A busy machine is not a fault: what tests the limits of a pool opens one of its own.
  const pool = openPool({ url: url!, size: 10, timeoutFactor: 20, files, onError: () => {} })
  return {
    url: url!,
    pool,
    ownerUrl: ownerUrl!,
    asOwner: (sql, values) => command(ownerUrl!, sql, values),
    tamper: (sql, values) => command(`${adminUrl}?options=-c%20session_replication_role%3Dreplica`, sql, values),
    async drop() {
      if (!pool.ended) await pool.end()
      await command(server.adminUrl, `drop database ${name} with (force)`)
    },
  }
}

/** A pool with settings of its own, closed with the test. Its connections may be ended by the server, which is no error of the test. */
export function poolForTest(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

/** A database for a single test. */
export async function databaseForTest(): Promise<TestDatabase> {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  return database
}

/** A database for a single test, without a schema. */
export async function emptyDatabaseForTest(): Promise<TestDatabase> {
  const database = await cloneDatabase('template0')
  onTestFinished(() => database.drop())
  return database
}

async function command(url: string, sql: string, values?: unknown[]): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql, values)
  } finally {
    await client.end()
  }
}
