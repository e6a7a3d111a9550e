import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { OperatorError } from '../../domain/errors.js'
import { SHARED_ROLE, sqlState } from '../postgres.js'
import { findBinaries } from './binaries.js'
import { checkOwnership, type Location, prepareLocation } from './location.js'
import { describeFailure, initialise, logFile, logSize, postmasterPid, SUPERUSER, startServer, stopServer } from './postmaster.js'

/**
 * A PostgreSQL server on a Unix socket inside the data folder. It does not depend on the process that started it: after a
 * kill -9 the next start adopts it. The last process that uses it stops it, so commands work both while the gateway runs and
 * while it is stopped.
 */
export interface Embedded {
  /** For the program: this role adds to the history and cannot change it. */
  url: string
  /** For migrations: this role owns the tables. */
  ownerUrl: string
  /** For tests and benchmarks. The program itself uses the superuser for nothing but the server's own upkeep. */
  adminUrl: string
  /** Stops the server when no other process uses it. */
  close(): Promise<void>
}

export interface EmbeddedOptions {
  /** False: commits do not wait for the disk. A crash of the machine then destroys the database, so this is for tests alone. */
  durable?: boolean
  /** Ends a start that is under way. */
  signal?: AbortSignal
  /** Hears that the server is lost, why it does not start, and that it is back. */
  report?(details: object, message: string): void
  /** The first and the longest wait between two attempts to start a server that was lost. */
  retryMs?: { first: number; longest: number }
}

const OWNER = 'carteiro'
const DATABASE = 'carteiro'
const OWNER_LOCK = 7_261_010
const USERS_LOCK = 7_261_011
/**
 * How often the first start launches the server before it gives up, and the wait in between: after a kill -9 the processes of
 * the old server need a moment to end, and until then the new one refuses to start.
 */
const FIRST_LAUNCHES = 5
const RELAUNCH_MS = 500
/** Recovery after a crash replays the log, which may take minutes on slow disks. The log says so this often meanwhile. */
const REPORT_EVERY_MS = 30_000
const CLOSE_ROUNDS = 5
const RETRY_MS = { first: 250, longest: 10_000 }

const urlOf = (location: Location, role: string, database = DATABASE): string =>
  `postgresql://${role}@${encodeURIComponent(location.sockets)}/${database}`

/** `exclusive`: only one gateway may use a data folder, so a second one is refused. */
export async function openEmbedded(dataFolder: string, exclusive: boolean, options: EmbeddedOptions = {}): Promise<Embedded> {
  const location = prepareLocation(dataFolder, options.durable ?? true)
  const keeper = new Keeper(location, exclusive, options)
  await keeper.start()
  return {
    url: urlOf(location, SHARED_ROLE),
    ownerUrl: urlOf(location, OWNER),
    adminUrl: urlOf(location, SUPERUSER),
    close: () => keeper.close(),
  }
}

/** Holds the locks of this process on the server, and starts the server again whenever it is lost, for as long as it takes. */
class Keeper {
  readonly #location: Location
  readonly #exclusive: boolean
  readonly #options: EmbeddedOptions
  readonly #stop = new AbortController()
  /** Undefined: the server is lost. */
  #client: pg.Client | undefined
  #restarting: Promise<void> = Promise.resolve()

  constructor(location: Location, exclusive: boolean, options: EmbeddedOptions) {
    this.#location = location
    this.#exclusive = exclusive
    this.#options = options
  }

  /** The first start either succeeds or says why not. */
  async start(): Promise<void> {
    const { signal } = this.#options
    const abort = (): void => this.#stop.abort(signal!.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
    try {
      await this.#attach(true)
    } catch (error) {
      await this.close()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  async #attach(isFirst: boolean): Promise<void> {
    const client = await attach(this.#location, this.#exclusive, { isFirst, signal: this.#stop.signal, report: this.#report })
    client.once('end', () => {
      this.#client = undefined
      if (!this.#stop.signal.aborted) this.#restarting = this.#restart()
    })
    this.#client = client
  }

  /** The server crashed or was stopped by somebody. Nothing else will start it: there is no last attempt. */
  async #restart(): Promise<void> {
    const { first, longest } = this.#options.retryMs ?? RETRY_MS
    const lostAt = performance.now()
    this.#report({}, 'the embedded PostgreSQL is lost: starting it again')
    for (let waitMs = first; !this.#stop.signal.aborted; waitMs = Math.min(longest, 2 * waitMs)) {
      try {
        await this.#attach(false)
        this.#report({ downMs: Math.round(performance.now() - lostAt) }, 'the embedded PostgreSQL is back')
        return
      } catch (err) {
        if (this.#stop.signal.aborted) return
        this.#report({ err, retryMs: waitMs }, 'the embedded PostgreSQL does not start: trying again')
        await sleep(waitMs, undefined, { signal: this.#stop.signal }).catch(() => {})
      }
    }
  }

  readonly #report = (details: object, message: string): void => this.#options.report?.(details, message)

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#restarting
    // A connection may break at this very moment. The server is left running only for another user.
    for (let round = 0; round < CLOSE_ROUNDS; round++) {
      try {
        return await this.#release()
      } catch {
        this.#client = undefined
      }
    }
  }

  async #release(): Promise<void> {
    const pid = postmasterPid(this.#location)
    if (pid === null) return this.#client?.end()
    const client = this.#client ?? (await connectTo(this.#location).catch(nobodyGetsIn))
    if (client === null || (await isLastUser(client))) await stopServer(pid)
    await client?.end().catch(() => {})
  }
}

/** null: the server is starting or stopping and lets nobody in, so nobody uses it. */
function nobodyGetsIn(error: unknown): null {
  const { code } = error as { code?: string }
  if (['57P03', 'ECONNREFUSED', 'ENOENT'].includes(code ?? '')) return null
  throw error
}

async function isLastUser(client: pg.Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_shared($1)', [USERS_LOCK])
  const { rows } = await client.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [USERS_LOCK])
  return rows[0]!.last
}

interface Start {
  /** Only the first start may create a database: later a folder without one is a disk that is not mounted. */
  isFirst: boolean
  signal: AbortSignal
  report(details: object, message: string): void
}

async function attach(location: Location, exclusive: boolean, start: Start): Promise<pg.Client> {
  for (;;) {
    await ensureRunning(location, start)
    try {
      return await join(location, exclusive)
    } catch (error) {
      if (!isPassing(error)) throw error
      await sleep(100)
    }
  }
}

/** Another process may be stopping the server at this moment: 57P01 to 57P03, or no answer at all. */
const isPassing = (error: unknown): boolean => !(error instanceof OperatorError) && /^(57P0.|08...|)$/.test(sqlState(error))

/** Connects and takes the locks of a user of the server. */
async function join(location: Location, exclusive: boolean): Promise<pg.Client> {
  await createDatabase(location)
  const client = await connectTo(location)
  try {
    await client.query('select pg_advisory_lock_shared($1)', [USERS_LOCK])
    if (exclusive && !(await acquireOwnerLock(client))) {
      throw new OperatorError(
        `Já há um Carteiro em execução na pasta de dados ${location.folder}. Encerre-o antes, ou dê a este outra pasta (CARTEIRO_DATA) ou um banco compartilhado (DATABASE_URL).`,
      )
    }
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** As the superuser: a few connections are kept for it when all others are in use. */
async function connectTo(location: Location, database = DATABASE): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: urlOf(location, SUPERUSER, database),
    application_name: 'carteiro keeper',
    keepAlive: true,
    connectionTimeoutMillis: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** After a kill -9 the server needs a moment to notice that the connection of the previous owner is closed. */
async function acquireOwnerLock(client: pg.Client): Promise<boolean> {
  for (let round = 0; round < 20; round++) {
    const { rows } = await client.query<{ owned: boolean }>('select pg_try_advisory_lock($1) as owned', [OWNER_LOCK])
    if (rows[0]!.owned) return true
    await sleep(100)
  }
  return false
}

/** Neither the owner of the tables nor the program's role is a superuser: a superuser can switch every protection off. */
async function createDatabase(location: Location): Promise<void> {
  const client = await connectTo(location, 'postgres')
  try {
    for (const role of [OWNER, SHARED_ROLE]) {
      const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role])
      if (rowCount === 0) await client.query(`create role ${role} login`).catch(ignoreDuplicate)
    }
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE} owner ${OWNER}`).catch(ignoreDuplicate)
  } finally {
    await client.end()
  }
}

/** Another process created it at the same moment. */
function ignoreDuplicate(error: unknown): void {
  if (!['42P04', '42710', '23505'].includes(sqlState(error))) throw error
}

async function ensureRunning(location: Location, { isFirst, signal, report }: Start): Promise<void> {
  const binaries = await findBinaries(location.folder, location.user)
  if (isFirst) await initialise(location, binaries, signal)
  checkOwnership(location)
  const logStart = logSize(location)
  let launches = isFirst ? FIRST_LAUNCHES : 1
  for (let saidAt = performance.now(); ; ) {
    signal.throwIfAborted()
    if (await isAnswering(location)) return
    if (postmasterPid(location) === null) {
      if (launches-- === 0) {
        const reason = describeFailure(location, logStart)
        throw new OperatorError(`O PostgreSQL embutido não inicia.${reason} O registro dele está em ${logFile(location)}.`)
      }
      await startServer(location, binaries)
      if (postmasterPid(location) === null) await sleep(RELAUNCH_MS)
    }
    if (performance.now() - saidAt > REPORT_EVERY_MS) {
      report({}, 'the embedded PostgreSQL runs but does not answer yet: waiting for it')
      saidAt = performance.now()
    }
    await sleep(50)
  }
}

const isAnswering = (location: Location): Promise<boolean> =>
  connectTo(location, 'postgres').then(
    client => client.end().then(() => true),
    () => false,
  )
