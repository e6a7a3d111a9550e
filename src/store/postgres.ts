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

/**
 * The client's side of a connection. Without an initial delay the system probes a silent connection only after two hours, and a
 * server that vanished would be noticed as late as that.
 */
export const CLIENT_SOCKET = { connectionTimeoutMillis: 3_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const

/**
 * The server's side: a client that vanished (power, network) is noticed within 30 s instead of two hours, also while the server is
 * sending it a result. On a Unix socket these settings have no effect.
 */
export const SERVER_SOCKET =
  '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=25000'

/** How long a transaction may do nothing before the server ends it: its node is frozen or gone, and others need its rows. */
const IDLE_IN_TRANSACTION_MS = 10_000
/** How long a statement waits for rows of another transaction: less than its own time-out, so that the error names the reason. */
const LOCK_MS = 8_000
/** The same where many facts wait for one transaction. A group that meets a lock is halved up to eight times, so this is short. */
const GROUP_LOCK_MS = 1_000

export function openPool({ url, size, onError }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    application_name: 'carteiro',
    idleTimeoutMillis: 60_000,
    ...CLIENT_SOCKET,
    // The server's timeout comes first; the client's timeout covers a server that does not answer at all.
    statement_timeout: 10_000,
    query_timeout: 12_000,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    lock_timeout: LOCK_MS,
    // Plans are cached: a plan made while a month's partition was nearly empty must not scan the whole partition once it is full.
    // With enable_seqscan=off the remaining scans look so expensive that the server would compile them, so jit is off too.
    options: `-c timezone=UTC -c enable_seqscan=off -c jit=off ${SERVER_SOCKET}`,
    onConnect: raiseCommitLevel,
  })
  // The pool replaces a broken idle connection; without a listener it would end the process.
  pool.on('error', onError)
  return pool
}

/**
 * An accepted request must survive a crash of the database server, whatever its settings are. Stronger settings (remote_apply)
 * are kept, which the options above would weaken.
 */
async function raiseCommitLevel(client: Queryable): Promise<void> {
  await run(
    client,
    `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local')`,
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
    if (isUnavailable(error)) throw new StoreUnavailable(error)
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

/** A transaction that writes for many at once: it gives up soon where another transaction holds a row that it needs (isLocked). */
export const groupTransaction = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, `begin; set local lock_timeout = ${GROUP_LOCK_MS}`, work)

/** Runs several reads on one snapshot. */
export const snapshot = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, 'begin isolation level repeatable read read only', work)

const ignore = (): void => {}

async function inTransaction<T>(pool: Pool, begin: string, work: (db: Queryable) => Promise<T>): Promise<T> {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    throw new StoreUnavailable(error)
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
    // After a Refusal or a wait for a lock, and a rollback, the connection can be reused. In any other state it is closed.
    const clean =
      (error instanceof Refusal || isLocked(error)) &&
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
 * SQLSTATE class 08 connection, 53 resources, 57 operator intervention, 40 a conflict that a retry resolves, 25006 a read-only
 * standby, 55P03 a row that another transaction holds; FATAL: the session ended or was refused; no SQLSTATE: a socket error.
 */
function isUnavailable(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== '') return /^(08|53|57|40|25006|55P03)/.test(state) || (error as { severity?: string }).severity === 'FATAL'
  return !(error instanceof TypeError || error instanceof RangeError)
}

/** Bad data, class 23 constraint, 21 cardinality, 54 program limit: one row causes the error, and the others can be written. */
export const isRowFault = (error: unknown): boolean => error instanceof Refusal || /^(21|23|54)/.test(sqlState(error))

/** 23514 without a constraint name: there is no partition for the row. */
export const isMissingPartition = (error: unknown): boolean =>
  sqlState(error) === '23514' && (error as { constraint?: string }).constraint === undefined

/** The statement exceeded its timeout. */
export const isTimeout = (error: unknown): boolean => error instanceof StoreUnavailable && sqlState(error.cause) === '57014'

/** SQLSTATE lock_not_available. */
const LOCKED = '55P03'

/** Another transaction held a row for longer than is waited for it. */
export const isLocked = (error: unknown): boolean => error instanceof StoreUnavailable && sqlState(error.cause) === LOCKED

/** The write took or waited too long. If it is one of many at once, a smaller one may succeed. */
export const isTooSlow = (error: unknown): boolean => isTimeout(error) || isLocked(error)

export const lockedOut = (): StoreUnavailable =>
  new StoreUnavailable(Object.assign(new Error('another transaction holds the row'), { code: LOCKED }))

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505'
