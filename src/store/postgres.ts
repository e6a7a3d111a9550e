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

export function openPool({ url, size, asOwner = false, onError }: PoolOptions): Pool {
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

/** Runs writes and undoes them: what fails here would fail for good. */
export const rehearse = (pool: Pool, work: (db: Queryable) => Promise<void>): Promise<void> =>
  inTransaction(pool, 'begin', work, 'rollback')

/**
 * Runs one statement in a transaction of its own. Where the answer is lost once the statement has left, StoreUnavailable says that the
 * statement may have been committed.
 */
export async function runOnce<Row extends pg.QueryResultRow>(pool: Pool, query: pg.QueryConfig): Promise<Row[]> {
  const client = await connect(pool)
  client.on('error', ignore)
  try {
    const rows = await queryRows<Row>(client, query)
    client.off('error', ignore).release()
    return rows
  } catch (error) {
    // After an answer of the server the connection can be reused.
    const answered = !(error instanceof StoreUnavailable) || error.reachable
    if (answered) client.off('error', ignore)
    client.release(!answered)
    throw withCommitDoubt(error)
  }
}

/** A transaction that writes for many at once: it gives up soon where another transaction holds a row that it needs (isLocked). */
export const groupTransaction = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, `begin; set local lock_timeout = ${GROUP_LOCK_MS}`, work)

/** Runs several reads on one snapshot. */
export const snapshot = <T>(pool: Pool, work: (db: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, 'begin isolation level repeatable read read only', work, 'rollback')

const ignore = (): void => {}

async function connect(pool: Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw unavailable(pool, error)
  }
}

async function inTransaction<T>(
  pool: Pool,
  begin: string,
  work: (db: Queryable) => Promise<T>,
  end: 'commit' | 'rollback' = 'commit',
): Promise<T> {
  const client = await connect(pool)
  // A broken connection fails the current query; without a listener it would also end the process.
  client.on('error', ignore)
  try {
    await run(client, begin)
    const result = await work(client)
    await run(client, end).catch(error => {
      throw end === 'commit' ? withCommitDoubt(error) : error
    })
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

/** pg-pool's words for a wait for one of its own connections. */
const ALL_IN_USE = 'timeout exceeded when trying to connect'

/** When every connection is established and in use, the server can be reached: we ask more of it than our pool allows. */
function unavailable(db: Queryable, error: unknown): StoreUnavailable {
  const { established = 0, size = 1 } = pools.get(db) ?? {}
  const isBusy = error instanceof Error && error.message === ALL_IN_USE && established >= size
  return isBusy ? new StoreBusy(error) : new StoreUnavailable(error, { reachable: isAnswer(error) })
}

/** Only the server's own answers have a SQLSTATE: codes of sockets such as EPIPE have five capitals too. */
export const sqlState = (error: unknown): string => (error instanceof pg.DatabaseError ? (error.code ?? '') : '')

/**
 * Answers of the server to a request that may succeed later. SQLSTATE class 08: connection; 40: a conflict that a retry resolves; 53:
 * resources; 55P03, 55006: a lock; 57: operator intervention; 58: the server's disk; 25006: a read-only server; 42P01, 42703, 42883: the
 * schema waits for a migration.
 */
const TRANSIENT = /^(08|40|53|55P03|55006|57|58|25006|42P01|42703|42883)/

/** No SQLSTATE: an error of the socket, or a time-out of the driver. FATAL: the session ended or was refused. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return TRANSIENT.test(sqlState(error)) || error.severity === 'FATAL'
  return !(error instanceof TypeError || error instanceof RangeError)
}

/** The server answered the statement itself. FATAL ends the session, or refuses it. */
const isAnswer = (error: unknown): boolean => error instanceof pg.DatabaseError && error.severity !== 'FATAL'

/** What the driver says of a connection that was broken before the statement was given to it. */
const UNSENT = /not queryable/
/** A statement runs only once its last byte has left, so an error while writing says that it did not run. */
const BEFORE_SENDING = ['connect', 'getaddrinfo', 'write']

/**
 * Whether a statement that failed so may have been committed. After an answer, ERROR or FATAL, it was not: a session that is ended
 * while its commit waits for a standby is cut off without a word.
 */
export function maybeCommitted(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return false
  const { syscall = '', message } = error as NodeJS.ErrnoException
  return !BEFORE_SENDING.includes(syscall) && !UNSENT.test(message)
}

const withCommitDoubt = (error: unknown): unknown =>
  error instanceof StoreUnavailable && maybeCommitted(error.cause)
    ? new StoreUnavailable(error.cause, { maybeCommitted: true })
    : error

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
  new StoreUnavailable(Object.assign(new pg.DatabaseError('another transaction holds the row', 0, 'error'), { code: LOCKED }), {
    reachable: true,
  })

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505'

/** Two transactions got in each other's way, or one held a lock for too long: the same change may pass at once. */
export const isConflict = (error: unknown): boolean =>
  /^(40001|40P01|55P03|23505)$/.test(sqlState(error instanceof StoreUnavailable ? error.cause : error))
