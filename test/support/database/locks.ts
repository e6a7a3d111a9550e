import pg from 'pg'
import { onTestFinished } from 'vitest'
import { openPool, type Pool } from '../../../src/store/postgres.js'
import { deferred } from '../deferred.js'
import { afterStatement } from './statements.js'

/** A session that holds the rows of this statement and does nothing more, like a node that vanished inside a transaction. */
export async function holdRows(url: string, statement: string, values: unknown[] = []): Promise<{ release(): Promise<unknown> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query(statement, values)
  return { release: () => client.query('commit') }
}

/** A pool whose first transaction stands still when the answer to the named statement has come, until `goOn`. */
export function pausedPool(url: string, statement: string): { pool: Pool; reached: Promise<void>; goOn(): void } {
  const pool = openPool({ url, size: 1, onError: () => {} })
  const reached = deferred()
  const gate = deferred()
  onTestFinished(() => {
    gate.resolve()
    return pool.end()
  })
  afterStatement(pool, statement, () => {
    reached.resolve()
    return gate.promise
  })
  return { pool, reached: reached.promise, goOn: () => gate.resolve() }
}

/** How many sessions of this database wait for a row of another one. */
export async function countWaiting(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return rows[0]!.count
}
