import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { withDatabase } from './global-setup.js'

export interface TestDatabase {
  url: string
  pool: Pool
  drop(): Promise<void>
}

/** A fresh database, cloned from the migrated template. Call once per test file (beforeAll) and drop it (afterAll). */
export const createDatabase = (): Promise<TestDatabase> => cloneDatabase('template_carteiro')

async function cloneDatabase(template: string): Promise<TestDatabase> {
  const server = inject('serverUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  await command(server, `create database ${name} template ${template} strategy file_copy`)
  const url = withDatabase(server, name)
  const pool = openPool({ url, size: 10, onError: () => {} })
  return {
    url,
    pool,
    async drop() {
      if (!pool.ended) await pool.end()
      await command(server, `drop database ${name} with (force)`)
    },
  }
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

async function command(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
