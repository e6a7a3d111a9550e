import pg from 'pg'
import { Refusal, StoreUnavailable } from '../domain/errors.js'

/** Anything that runs a query: the pool, or one connection inside a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow>(query: pg.QueryConfig | string, values?: unknown[]): Promise<pg.QueryResult<Row>>
}

export interface PoolOptions {
  url: string
  size: number
  onError(error: Error): void
}

export type Pool = pg.Pool

// bigint arrives as text by default; our counters stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

export function openPool({ url, size, onError }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    application_name: 'carteiro',
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: 60_000,
    // The server gives up first; the client's limit only covers a server that no longer answers at all.
    statement_timeout: 10_000,
    query_timeout: 12_000,
    keepAlive: true,
    // Plans are kept: one made while a month was nearly empty must not read it whole once it is full. What still has to be read
    // whole looks so dear then that the server would compile it first.
    options: '-c timezone=UTC -c enable_seqscan=off -c jit=off',
    onConnect: raiseCommitLevel,
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', onError)
  return pool
}

/**
 * What was answered 200 survives a crash of the server, however that server, database or role is set; stronger settings
 * (remote_apply) stay. Not by the options above: they would weaken those.
 */
async function raiseCommitLevel(client: Queryable): Promise<void> {
  await run(
    client,
    `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local')`,
  )
}

const DELETED_AT_ONCE = 5_000

/** Runs a query; out of reach becomes StoreUnavailable, data that PostgreSQL cannot hold a Refusal, the rest stays what it is. */
export async function run<Row extends pg.QueryResultRow>(
  db: Queryable,
  query: pg.QueryConfig | string,
  values?: unknown[],
): Promise<pg.QueryResult<Row>> {
  try {
    return await db.query<Row>(query, values)
  } catch (error) {
    if (isUnavailable(error)) throw new StoreUnavailable(error)
    throw sqlState(error).startsWith('22') ? new Refusal('storeRefused', [], { cause: error }) : error
  }
}

/** A long backlog must not make one statement that outlasts its time limit, and fails again an hour later. */
export async function deleteInBatches(db: Queryable, table: string, condition: string): Promise<void> {
  for (let deleted: number | null = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; ) {
    const batch: string = `select ctid from ${table} where ${condition} limit ${DELETED_AT_ONCE}`
    deleted = (await run(db, `delete from ${table} where ctid = any(array(${batch}))`)).rowCount
  }
}

/** As a number: 150004 is 15.4. */
export async function readServerVersion(db: Queryable): Promise<number> {
  const { rows } = await run<{ version: number }>(db, "select current_setting('server_version_num')::int as version")
  return rows[0]!.version
}

export const transaction = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> => between(pool, 'begin', work)

/** Several reads that must see one and the same moment. */
export const snapshot = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> =>
  between(pool, 'begin isolation level repeatable read read only', work)

const ignore = (): void => {}

async function between<T>(pool: Pool, begin: string, work: (db: Queryable) => Promise<T>): Promise<T> {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    throw new StoreUnavailable(error)
  }
  // A connection that breaks fails the query under way; without a listener it would end the whole process as well.
  client.on('error', ignore)
  try {
    await run(client, begin)
    const result = await work(client)
    await run(client, 'commit')
    client.off('error', ignore).release()
    return result
  } catch (error) {
    // Refused by our own rules and rolled back, a connection is as good as new; in any other state it is closed, never
    // handed to the next user.
    const clean =
      error instanceof Refusal &&
      (await client.query('rollback').then(
        () => true,
        () => false,
      ))
    if (clean) client.off('error', ignore)
    client.release(!clean)
    throw error
  }
}

const sqlState = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

/**
 * Class 08 connection, 53 resources, 57 operator intervention, 40 a conflict that a second try settles, 25006 a standby that
 * only reads; FATAL: the session ended or was not let in; no SQLSTATE: the socket.
 */
function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== '') return /^(08|53|57|40|25006)/.test(state) || (error as { severity?: string }).severity === 'FATAL'
  return !(error instanceof TypeError || error instanceof RangeError)
}

/** Bad data, class 23 constraint, 21 cardinality, 54 program limit: the row's own fault, its neighbours may pass. */
export const isRowFault = (error: unknown): boolean => error instanceof Refusal || /^(21|23|54)/.test(sqlState(error))

/** 23514 without a constraint's name: no partition takes the row. */
export const isMissingPartition = (error: unknown): boolean =>
  sqlState(error) === '23514' && (error as { constraint?: string }).constraint === undefined

/** The statement took longer than it may. */
export const isTimeout = (error: unknown): boolean => error instanceof StoreUnavailable && sqlState(error.cause) === '57014'

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505'
