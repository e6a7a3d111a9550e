import { hash } from 'node:crypto'
import pg from 'pg'
import { FilesUnavailable, Refusal, StoreBusy, StoreUnavailable } from '../domain/errors.js'
import type { ObjectStore } from '../runtime/objects/object-store.js'
import { ALL_IN_USE, ServerPool } from './server-pool.js'
import { CLIENT_SOCKET, NoPrimary, READ_ONLY, Servers } from './servers.js'

/** Anything that runs a query: the pool, or one connection inside a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow>(query: pg.QueryConfig | string, values?: unknown[]): Promise<pg.QueryResult<Row>>
}

/** One connection inside a transaction. Not the pool, which has `totalCount`: each of its statements is a transaction of its own. */
export type Transaction = Queryable & { readonly totalCount?: never }

export interface PoolOptions {
  url: string
  /** The servers of that URL where another pool of this process knows them already (serversOf). */
  servers?: Servers
  size: number
  /** Where the files are that are not in the database; null: there are none outside. */
  files?: ObjectStore | null
  /** Keeps the rights of the user that connects, for migrations. Otherwise the program's role is taken on. */
  asOwner?: boolean
  /** Multiplies the timeouts of statements and of the wait for a free connection, for commands that read the whole database. */
  timeoutFactor?: number
  /** A shorter wait for rows of another transaction, in tests. */
  lockMs?: number
  onError(error: Error): void
}

export type Pool = pg.Pool

/** How many connections a pool may have, and how many of them are established: pg-pool counts those that try to connect as well. */
const pools = new WeakMap<Queryable, { established: number; size: number }>()
/** The servers of pools, and of their connections. */
const known = new WeakMap<Queryable, Servers>()

/** For what would be wrong outside of a transaction, where the types do not tell. */
export const isPool = (db: Queryable): boolean => pools.has(db)
/** Where the files of pools, and of their connections, are outside of the database. */
const outside = new WeakMap<Queryable, ObjectStore>()

export const filesOf = (db: Queryable): ObjectStore | null => outside.get(db) ?? null

export const serversOf = (db: Queryable): Servers | undefined => known.get(db)

// bigint arrives as text by default; our counters stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * The role that the program's connections take on when its user owns the tables. It has what grant_application
 * (migrations/0001_schema.sql) gives: it adds to the history and cannot change it.
 */
export const SHARED_ROLE = 'carteiro_app'
/** Since PostgreSQL 16 the member of a role may "set role" only with an option of its own. */
export const CAN_SET_ROLE = `pg_has_role(oid, case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)`

/** How long a transaction may do nothing before the server ends it: its node is frozen or gone, and others need its rows. */
const IDLE_IN_TRANSACTION_MS = 10_000
/** How long a statement waits for rows of another transaction: less than its own time-out, so that the error names the reason. */
const LOCK_MS = 8_000
/** The same where many facts wait for one transaction. A group that meets a lock is halved up to eight times, so this is short. */
const GROUP_LOCK_MS = 1_000

/**
 * What every session of ours is set to. By statements, not when the connection starts: PgBouncer lets no other setting pass there.
 */
const sessionSettings = ({
  lockMs,
  timeoutFactor,
}: Required<Pick<PoolOptions, 'lockMs' | 'timeoutFactor'>>): Readonly<Record<string, string>> => ({
  timezone: 'UTC',
  // The server's time-out comes first; the client's (query_timeout) covers a server that does not answer at all.
  statement_timeout: String(timeoutFactor * 10_000),
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
  lock_timeout: String(lockMs),
  // Plans are cached: a plan made while a month's partition was nearly empty must not scan the whole partition once it is full.
  // With enable_seqscan=off the remaining scans look so expensive that the server would compile them, so jit is off too.
  enable_seqscan: 'off',
  jit: 'off',
  // A statement is planned once for each connection: plans for the values at hand were the same and cost more than the statements.
  plan_cache_mode: 'force_generic_plan',
  // Such a plan does not know that a list ends after a page. It would start helper processes, which takes longer than the page: 30 ms for 2 ms.
  max_parallel_workers_per_gather: '0',
  // A client that vanished (power, network) is noticed within 30 s instead of two hours, also while the server is sending it a
  // result. On a Unix socket these settings have no effect.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '25000',
})

export function openPool(options: PoolOptions): Pool {
  const {
    url,
    size,
    asOwner = false,
    timeoutFactor = 1,
    onError,
    servers = new Servers(url),
    lockMs = LOCK_MS,
    files = null,
  } = options
  const pool = new ServerPool(servers, {
    max: size,
    application_name: 'carteiro',
    idleTimeoutMillis: 60_000,
    ...CLIENT_SOCKET,
    connectionTimeoutMillis: timeoutFactor * CLIENT_SOCKET.connectionTimeoutMillis,
    query_timeout: timeoutFactor * 12_000,
    onConnect: client => {
      if (files !== null) outside.set(client, files)
      return prepareSession(client, servers, { asOwner, lockMs, timeoutFactor })
    },
  })
  // The pool replaces a broken idle connection; without a listener it would end the process.
  pool.on('error', onError)
  const counts = { established: 0, size }
  pool.on('connect', () => counts.established++)
  pool.on('remove', () => counts.established--)
  pools.set(pool, counts)
  known.set(pool, servers)
  if (files !== null) outside.set(pool, files)
  return pool
}

/**
 * An accepted request must survive a crash of the database server, whatever its settings are. Stronger settings (remote_apply)
 * are kept. A user that owns the tables takes on the role with fewer rights. Where writes are needed, a connection to a standby is refused.
 */
async function prepareSession(
  client: Queryable,
  servers: Servers,
  { asOwner, ...waits }: Required<Pick<PoolOptions, 'asOwner' | 'lockMs' | 'timeoutFactor'>>,
): Promise<void> {
  known.set(client, servers)
  const settings = Object.entries(sessionSettings(waits)).map(([name, value]) => `('${name}', '${value}')`)
  const role = `select rolname from pg_roles where rolname = '${SHARED_ROLE}' and rolname <> current_user and ${CAN_SET_ROLE}`
  const { rows } = await run<{ readOnly: boolean }>(
    client,
    `select current_setting('transaction_read_only') = 'on' as "readOnly",
       case when current_setting('synchronous_commit') in ('off', 'local') then set_config('synchronous_commit', 'on', false) end,
       (select count(set_config(name, value, false)) from (values ${settings.join(', ')}) as setting (name, value))
       ${asOwner ? '' : `, (select set_config('role', rolname, false) from (${role}) r)`}`,
  )
  if (servers.mustWrite && rows[0]!.readOnly) throw new NoPrimary('the server that was connected to accepts no writes')
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
    if (sqlState(error) === READ_ONLY) serversOf(db)?.demoted()
    if (isUnavailable(error)) throw unavailable(db, error)
    throw /^(22|54000)/.test(sqlState(error)) ? new Refusal('storeRefused', [], { cause: error }) : error
  }
}

export const queryRows = async <Row extends pg.QueryResultRow>(...query: Parameters<typeof run>): Promise<Row[]> =>
  (await run<Row>(...query)).rows

export const queryRow = async <Row extends pg.QueryResultRow>(...query: Parameters<typeof run>): Promise<Row | null> =>
  (await queryRows<Row>(...query))[0] ?? null

/**
 * The condition of an optional filter; null: any value. The server plans a statement without its values (openPool), so a text that
 * covers both cases would never use the index of the filter.
 */
export const filterBy = (parameter: string, value: unknown, condition: string): string =>
  value === null ? `${parameter} is null` : condition

/** Gives a statement of which there are a few texts a name, so that each is planned once for each connection. */
export const plannedOnce = (query: pg.QueryConfig): pg.QueryConfig => ({ ...query, name: hash('sha1', query.text) })

/** For queries with one column. */
export const queryValues = async <Value>(...query: Parameters<typeof run>): Promise<Value[]> =>
  (await queryRows<Record<string, Value>>(...query)).map(row => Object.values(row)[0]!)

export const queryValue = async <Value>(...query: Parameters<typeof run>): Promise<Value | null> =>
  (await queryValues<Value>(...query))[0] ?? null

export const execute = async (...statement: Parameters<typeof run>): Promise<void> => void (await run(...statement))

/** Whether a statement that reads or changes at most one row found that row. */
export const matchesRow = async (...statement: Parameters<typeof run>): Promise<boolean> =>
  (await run(...statement)).rowCount === 1

/**
 * Deletes in batches, because one statement for a long backlog would exceed its timeout at every run. `order`: by an index that begins with
 * what is to be deleted. Without it the planner may read the whole table for a few rows: it expects to find a batch of them soon.
 */
export async function deleteInBatches(
  db: Queryable,
  table: string,
  condition: string,
  order: string,
  values: unknown[] = [],
): Promise<void> {
  for (let deleted: number | null = DELETE_BATCH; deleted === DELETE_BATCH; ) {
    const batch: string = `select ctid from ${table} where ${condition} order by ${order} limit ${DELETE_BATCH}`
    deleted = (await run(db, `delete from ${table} where ctid = any(array(${batch}))`, values)).rowCount
  }
}

/** Does all of some work. What fails keeps nothing else from being done: the first error is thrown at the end. */
export async function doAll<T>(pieces: readonly T[], work: (piece: T) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = []
  for (const piece of pieces) {
    try {
      await work(piece)
    } catch (error) {
      // Without a database nothing else succeeds either.
      if (isOutage(error)) throw error
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
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
    // After an answer of the server the connection can be reused, but for one that only reads: it may lead to a former primary.
    const reusable = !(error instanceof StoreUnavailable) || (error.reachable && sqlState(error.cause) !== READ_ONLY)
    if (reusable) client.off('error', ignore)
    client.release(!reusable)
    throw withUnknownCommit(error)
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
      throw end === 'commit' ? withUnknownCommit(error) : error
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

const BROKEN =
  /ECONNRE|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|Connection terminated|not queryable|timeout expired|timeout exceeded when/

/**
 * The connection broke, or none could be made. Callers try again and log nothing, because Servers reports the loss of the database once.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof StoreBusy || error instanceof FilesUnavailable) return false
  const cause = error instanceof StoreUnavailable ? error.cause : error
  if (cause instanceof NoPrimary) return true
  if (cause instanceof pg.DatabaseError) return cause.severity === 'FATAL' && !sqlState(cause).startsWith('53')
  return cause instanceof Error && BROKEN.test(`${(cause as NodeJS.ErrnoException).code ?? ''} ${cause.message}`)
}

/** The server answered the statement itself. FATAL ends the session, or refuses it. */
const isAnswer = (error: unknown): boolean => error instanceof pg.DatabaseError && error.severity !== 'FATAL'

/** What the driver says of a connection that was broken before the statement was given to it. */
const UNSENT = /not queryable/
/** A statement runs only once its last byte has left, so an error while writing says that it did not run. */
const BEFORE_SENDING = ['connect', 'getaddrinfo', 'write']

/**
 * Whether a statement that failed so may have been committed. After an answer, ERROR or FATAL, it was not: a session that is ended
 * while its commit waits for a standby gets no answer at all.
 */
export function maybeCommitted(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return false
  const { syscall = '', message } = error as NodeJS.ErrnoException
  return !BEFORE_SENDING.includes(syscall) && !UNSENT.test(message)
}

export const withUnknownCommit = (error: unknown): unknown =>
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
export const LOCKED = '55P03'

/** Another transaction held a row for longer than is waited for it. */
export const isLocked = (error: unknown): boolean => error instanceof StoreUnavailable && sqlState(error.cause) === LOCKED

/** The write took or waited too long. If it is one of many at once, a smaller one may succeed. */
export const isTooSlow = (error: unknown): boolean => isTimeout(error) || isLocked(error)

/** Whether one item of many may be to blame, so that the others can be written without it. */
export const isItemFault = (error: unknown): boolean => isRowFault(error) || isTooSlow(error)

export const lockedOut = (): StoreUnavailable =>
  new StoreUnavailable(Object.assign(new pg.DatabaseError('another transaction holds the row', 0, 'error'), { code: LOCKED }), {
    reachable: true,
  })

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505'

/** Two transactions got in each other's way, or one held a lock for too long: the same change may pass at once. */
export const isConflict = (error: unknown): boolean =>
  /^(40001|40P01|55P03|23505)$/.test(sqlState(error instanceof StoreUnavailable ? error.cause : error))
