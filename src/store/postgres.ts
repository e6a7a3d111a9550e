import pg from 'pg'
import { Refusal, StoreBusy, StoreUnavailable } from '../domain/errors.js'

/** Anything that runs a query: the pool, or one connection inside a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow>(query: pg.QueryConfig | string, values?: unknown[]): Promise<pg.QueryResult<Row>>
}

export interface PoolOptions {
  url: string
  size: number
  /** Keeps the rights of the user that connects, for migrations. Otherwise the program's role is taken on. */
  asOwner?: boolean
  onError(error: Error): void
}

export type Pool = pg.Pool

/** How many connections a pool may have, and how many of them are established: pg-pool counts those that try to connect as well. */
const pools = new WeakMap<Queryable, { established: number; size: number }>()

// bigint arrives as text by default; our counters stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * The role that the program's connections take on when its user owns the tables. It has what grant_application
 * (migrations/0001_schema.sql) gives: it adds to the history and cannot change it.
 */
export const SHARED_ROLE = 'carteiro_app'
/** Since PostgreSQL 16 the member of a role may "set role" only with an option of its own. */
export const CAN_SET_ROLE = `pg_has_role(oid, case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)`

export function openPool({ url, size, asOwner = false, onError }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    application_name: 'carteiro',
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: 60_000,
    // The server's timeout comes first; the client's timeout covers a server that does not answer at all.
    statement_timeout: 10_000,
    query_timeout: 12_000,
    keepAlive: true,
    // Plans are cached: a plan made while a month's partition was nearly empty must not scan the whole partition once it is full.
    // With enable_seqscan=off the remaining scans look so expensive that the server would compile them, so jit is off too.
    options: '-c timezone=UTC -c enable_seqscan=off -c jit=off',
    onConnect: client => prepareSession(client, asOwner),
  })
  // The pool replaces a broken idle connection; without a listener it would end the process.
  pool.on('error', onError)
  const counts = { established: 0, size }
  pool.on('connect', () => counts.established++)
  pool.on('remove', () => counts.established--)
  pools.set(pool, counts)
  return pool
}

/**
 * An accepted request must survive a crash of the database server, whatever its settings are. Stronger settings (remote_apply)
 * are kept, which the options above would weaken. A user that owns the tables hands its rights in.
 */
async function prepareSession(client: Queryable, asOwner: boolean): Promise<void> {
  const role = `select rolname from pg_roles where rolname = '${SHARED_ROLE}' and rolname <> current_user and ${CAN_SET_ROLE}`
  await run(
    client,
    `select case when current_setting('synchronous_commit') in ('off', 'local') then set_config('synchronous_commit', 'on', false) end
     ${asOwner ? '' : `, (select set_config('role', rolname, false) from (${role}) r)`}`,
  )
}

const DELETE_BATCH = 5_000

/** Runs a query. An unreachable server becomes StoreUnavailable, and data that PostgreSQL cannot store becomes a Refusal. */
export async function run<Row extends pg.QueryResultRow>(
  db: Queryable,
  query: pg.QueryConfig | string,
  values?: unknown[],
): Promise<pg.QueryResult<Row>> {
  try {
    return await db.query<Row>(query, values)
  } catch (error) {
    if (isUnavailable(error)) throw unavailable(db, error)
    throw sqlState(error).startsWith('22') ? new Refusal('storeRefused', [], { cause: error }) : error
  }
}

export const queryRows = async <Row extends pg.QueryResultRow>(...query: Parameters<typeof run>): Promise<Row[]> =>
  (await run<Row>(...query)).rows

export const queryRow = async <Row extends pg.QueryResultRow>(...query: Parameters<typeof run>): Promise<Row | null> =>
  (await queryRows<Row>(...query))[0] ?? null

/** For queries with one column. */
export const queryValues = async <Value>(...query: Parameters<typeof run>): Promise<Value[]> =>
  (await queryRows<Record<string, Value>>(...query)).map(row => Object.values(row)[0]!)

export const queryValue = async <Value>(...query: Parameters<typeof run>): Promise<Value | null> =>
  (await queryValues<Value>(...query))[0] ?? null

export const execute = async (...statement: Parameters<typeof run>): Promise<void> => void (await run(...statement))

/** Whether a statement that reads or changes at most one row found that row. */
export const matchesRow = async (...statement: Parameters<typeof run>): Promise<boolean> =>
  (await run(...statement)).rowCount === 1

/** Deletes in batches, because one statement for a long backlog would exceed its timeout at every run. */
export async function deleteInBatches(db: Queryable, table: string, condition: string): Promise<void> {
  for (let deleted: number | null = DELETE_BATCH; deleted === DELETE_BATCH; ) {
    const batch: string = `select ctid from ${table} where ${condition} limit ${DELETE_BATCH}`
    deleted = (await run(db, `delete from ${table} where ctid = any(array(${batch}))`)).rowCount
  }
}

/** 150004 is version 15.4. */
export async function readServerVersion(db: Queryable): Promise<number> {
  const { rows } = await run<{ version: number }>(db, "select current_setting('server_version_num')::int as version")
  return rows[0]!.version
}

export const transaction = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> => inTransaction(pool, 'begin', work)

/** Runs several reads on one snapshot. */
export const snapshot = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, 'begin isolation level repeatable read read only', work)

const ignore = (): void => {}

async function inTransaction<T>(pool: Pool, begin: string, work: (db: Queryable) => Promise<T>): Promise<T> {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    throw unavailable(pool, error)
  }
  // A broken connection fails the current query; without a listener it would also end the process.
  client.on('error', ignore)
  try {
    await run(client, begin)
    const result = await work(client)
    await run(client, 'commit')
    client.off('error', ignore).release()
    return result
  } catch (error) {
    // After a Refusal and a rollback the connection can be reused. In any other state it is closed.
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

/** pg-pool's words for a wait for one of its own connections. */
const ALL_IN_USE = 'timeout exceeded when trying to connect'

/** When every connection is established and in use, the server can be reached: we ask more of it than our pool allows. */
function unavailable(db: Queryable, error: unknown): StoreUnavailable {
  const { established = 0, size = 1 } = pools.get(db) ?? {}
  const isBusy = error instanceof Error && error.message === ALL_IN_USE && established >= size
  return isBusy ? new StoreBusy(error) : new StoreUnavailable(error)
}

export const sqlState = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

/**
 * SQLSTATE class 08 connection, 53 resources, 57 operator intervention, 40 a conflict that a retry resolves, 25006 a read-only
 * standby; FATAL: the session ended or was refused; no SQLSTATE: a socket error.
 */
function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== '') return /^(08|53|57|40|25006)/.test(state) || (error as { severity?: string }).severity === 'FATAL'
  return !(error instanceof TypeError || error instanceof RangeError)
}

/** Bad data, class 23 constraint, 21 cardinality, 54 program limit: one row causes the error, and the others can be written. */
export const isRowFault = (error: unknown): boolean => error instanceof Refusal || /^(21|23|54)/.test(sqlState(error))

/** 23514 without a constraint name: there is no partition for the row. */
export const isMissingPartition = (error: unknown): boolean =>
  sqlState(error) === '23514' && (error as { constraint?: string }).constraint === undefined

/** The statement exceeded its timeout. */
export const isTimeout = (error: unknown): boolean => error instanceof StoreUnavailable && sqlState(error.cause) === '57014'

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505'
