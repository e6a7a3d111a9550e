import pg from 'pg'
import type { Pool } from '../../../src/store/postgres.js'

type Asked = { text: string; values?: unknown[] }
type Query = (first: string | pg.QueryConfig, values?: unknown[], ...callback: unknown[]) => Promise<unknown>

export interface ReadPlan {
  sql: string
  values: readonly unknown[]
  plan: string
}

/**
 * The plans of the statements that a piece of work sends through the pool, under settings of the planner. They are made as the pool has them
 * made, for any values (plan_cache_mode); partitions that the values of the work rule out are left out when such a plan is started, and here.
 * `run`: they are run, too, and undone, and the plans say how many rows each step had.
 */
export async function readPlans(
  pool: Pool,
  work: () => Promise<void>,
  settings: readonly string[] = [],
  run = false,
): Promise<ReadPlan[]> {
  const asked: Asked[] = []
  const noting =
    (query: Query): Query =>
    (first, values, ...callback) => {
      // A query with a callback comes from the pool's own query, which was noted already.
      if (callback.length > 0) return query(first, values, ...callback)
      asked.push(
        typeof first === 'string' ? { text: first, ...(values && { values }) } : { text: first.text, values: first.values ?? [] },
      )
      return query(first, values)
    }
  const query = pool.query.bind(pool) as Query
  const connect = pool.connect.bind(pool)
  const clients = new Set<pg.PoolClient>()
  pool.query = noting(query) as typeof pool.query
  // Statements on a connection that the work takes from the pool. With a callback, it is the pool's own query that connects.
  pool.connect = (async (callback?: Parameters<typeof connect>[0]) => {
    if (callback !== undefined) return connect(callback)
    const client = await connect()
    // The connection was noted when it was first taken from the pool.
    if (clients.has(client)) return client
    clients.add(client)
    client.query = noting(client.query.bind(client) as Query) as typeof client.query
    return client
  }) as typeof pool.connect
  try {
    await work()
  } finally {
    pool.query = query as typeof pool.query
    pool.connect = connect
    // The method of the driver's class is used again.
    for (const client of clients) Reflect.deleteProperty(client, 'query')
  }
  const plans: ReadPlan[] = []
  const client = await pool.connect()
  try {
    await client.query('begin')
    for (const setting of settings) await client.query(`set local ${setting}`)
    for (const { text: statement, values = [] } of asked) {
      // A cursor is explained by the statement that it reads.
      const text = statement.replace(/^declare .* cursor for (?=select\b)/, '')
      if (!/^\s*(select|with|update)\b/i.test(text)) continue
      await client.query(`prepare planned as ${text}`)
      const literals = await literalsOf(client, values)
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain ${run ? '(analyze, timing off, buffers off) ' : ''}execute planned${values.length === 0 ? '' : `(${literals.join(', ')})`}`,
      )
      await client.query('deallocate planned')
      plans.push({ sql: text, values, plan: rows.map(row => row['QUERY PLAN']).join('\n') })
    }
    await client.query('rollback')
  } finally {
    client.release()
  }
  return plans
}

/** As the driver would send them to the prepared statement `planned`. */
async function literalsOf(client: pg.PoolClient, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'planned'",
  )
  const literals = values.map(async (value, index) => {
    const type = rows[0]!.types[index]!
    // An array in the protocol's binary form, which only the server reads.
    if (!(Buffer.isBuffer(value) && type.endsWith('[]'))) return literalOf(value)
    const read = await client.query<{ text: string }>(`select $1::${type}::text as text`, [value])
    return literalOf(read.rows[0]!.text)
  })
  return Promise.all(literals)
}

const literalOf = (value: unknown): string => {
  const sent = (pg as unknown as Driver).utils.prepareValue(value)
  if (sent === null) return 'null'
  return pg.escapeLiteral(Buffer.isBuffer(sent) ? `\\x${sent.toString('hex')}` : String(sent))
}

/** Left out of the types of pg. */
interface Driver {
  utils: { prepareValue(value: unknown): unknown }
}
