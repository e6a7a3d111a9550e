import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, lstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { chown, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { OperatorError } from '../../domain/errors.js'
import { canReach, findBinaries, type ServerUser, serverUser } from './binaries.js'

/**
 * A PostgreSQL server on a Unix socket inside the data folder. It does not depend on the process that started it: after a
 * kill -9 the next start adopts it. The last process that uses it stops it, so commands work both while the gateway runs and
 * while it is stopped.
 */
export interface Embedded {
  url: string
  /** Stops the server when no other process uses it. */
  close(): Promise<void>
}

const USER = 'carteiro'
const DATABASE = 'carteiro'
const OWNER_LOCK = 7_261_010
const USERS_LOCK = 7_261_011
const SOCKET_FILE = '/.s.PGSQL.5432'
/** The length of sun_path on Linux and macOS without the final NUL. */
const MAX_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107
/** Recovery after a crash replays the log, which may take minutes on slow disks. */
const START_TIMEOUT_MS = 120_000
const INITDB_OPTIONS =
  `-U ${USER} --auth=trust --encoding=UTF8 --locale-provider=builtin --locale=C.UTF-8 --no-instructions`.split(' ')
const run = promisify(execFile)

interface Location {
  folder: string
  database: string
  sockets: string
  user: ServerUser | null
  durable: boolean
}

/**
 * `exclusive`: only one gateway may use a data folder, so a second one is refused. `durable: false`: commits do not wait for the
 * disk. A crash of the machine then destroys the database, so this is for tests alone.
 */
export async function openEmbedded(dataFolder: string, exclusive: boolean, { durable = true } = {}): Promise<Embedded> {
  const location = prepareLocation(resolve(dataFolder), durable)
  const keeper = await attachToServer(location, exclusive)
  return { url: urlOf(location), close: () => keeper.close() }
}

const urlOf = (location: Location, database = DATABASE): string =>
  `postgresql://${USER}@${encodeURIComponent(location.sockets)}/${database}`

function prepareLocation(folder: string, durable: boolean): Location {
  const user = serverUser()
  makeFolder(folder, null, user === null ? 0o700 : 0o755)
  if (user !== null && !canReach(user, folder)) {
    throw new OperatorError(
      `O usuário do banco de dados (${user.name}) não consegue entrar em ${folder}. Como root, defina CARTEIRO_DATA com uma pasta em que todos possam entrar, como /var/lib/carteiro.`,
    )
  }
  let sockets = join(folder, 'run')
  if (Buffer.byteLength(sockets + SOCKET_FILE) > MAX_SOCKET_PATH) {
    sockets = join(tmpdir(), `carteiro-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  }
  makeFolder(sockets, user, 0o700)
  return { folder, database: join(folder, 'postgres'), sockets, user, durable }
}

function makeFolder(path: string, owner: ServerUser | null, mode: number): void {
  try {
    mkdirSync(path, { recursive: true, mode })
    if (owner !== null) chownSync(path, owner.uid, owner.gid)
  } catch (cause) {
    throw new OperatorError(
      `Não foi possível criar a pasta ${path}. Defina CARTEIRO_DATA com uma pasta em que você possa escrever.`,
      { cause },
    )
  }
  const wanted = owner?.uid ?? process.getuid?.()
  const found = lstatSync(path)
  // In a shared temporary folder another user may have created it.
  if (!found.isDirectory() || (owner !== null && found.uid !== wanted)) {
    throw new OperatorError(`${path} não é uma pasta nossa. Remova-a ou defina CARTEIRO_DATA com outra pasta.`)
  }
}

async function attachToServer(location: Location, exclusive: boolean): Promise<{ close(): Promise<void> }> {
  let closing = false
  const attach = async (): Promise<pg.Client> => {
    const deadline = Date.now() + START_TIMEOUT_MS
    for (;;) {
      await ensureRunning(location, deadline)
      try {
        return await connect(location, exclusive)
      } catch (error) {
        // Another process may be stopping the server at this moment.
        if (error instanceof OperatorError || Date.now() > deadline) throw error
        await sleep(100)
      }
    }
  }
  let client = await attach()
  const watch = (watched: pg.Client): void => {
    watched.on('error', () => {})
    watched.once('end', () => {
      if (closing) return
      // The server crashed or was restarted: start it if needed and take the locks again.
      attach().then(
        next => {
          client = next
          watch(next)
        },
        () => {},
      )
    })
  }
  watch(client)
  return {
    async close() {
      closing = true
      try {
        await client.query('select pg_advisory_unlock_shared($1)', [USERS_LOCK])
        const { rows } = await client.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [USERS_LOCK])
        const pid = postmasterPid(location)
        if (rows[0]!.last && pid !== null) await stopServer(pid)
      } finally {
        await client.end().catch(() => {})
      }
    },
  }
}

async function connect(location: Location, exclusive: boolean): Promise<pg.Client> {
  await createDatabase(location)
  const client = new pg.Client({ connectionString: urlOf(location), application_name: 'carteiro keeper', keepAlive: true })
  client.on('error', () => {})
  await client.connect()
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

/** After a kill -9 the server needs a moment to notice that the connection of the previous owner is closed. */
async function acquireOwnerLock(client: pg.Client): Promise<boolean> {
  for (let round = 0; round < 20; round++) {
    const { rows } = await client.query<{ owned: boolean }>('select pg_try_advisory_lock($1) as owned', [OWNER_LOCK])
    if (rows[0]!.owned) return true
    await sleep(100)
  }
  return false
}

async function createDatabase(location: Location): Promise<void> {
  const client = serverClient(location)
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
  } catch (error) {
    // 42P04, 23505: another process created it at the same moment.
    if (!['42P04', '23505'].includes(String((error as { code?: string }).code))) throw error
  } finally {
    await client.end()
  }
}

async function ensureRunning(location: Location, deadline: number): Promise<void> {
  const binaries = await findBinaries(location.folder, location.user)
  await initialise(location, binaries)
  while (Date.now() < deadline) {
    if (await isAnswering(location)) return
    if (postmasterPid(location) === null) await startServer(location, binaries)
    await sleep(50)
  }
  throw new OperatorError(`O PostgreSQL não iniciou a tempo. O registro dele está em ${join(location.folder, 'postgres.log')}.`)
}

async function isAnswering(location: Location): Promise<boolean> {
  const client = serverClient(location)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

function serverClient(location: Location): pg.Client {
  const client = new pg.Client({ connectionString: urlOf(location, 'postgres'), connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  return client
}

async function initialise(location: Location, binaries: string): Promise<void> {
  if (existsSync(join(location.database, 'PG_VERSION'))) return checkVersion(location, binaries)
  // Created under another name and renamed, so that a crash leaves no incomplete database.
  const draft = `${location.database}.new-${process.pid}`
  await rm(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  if (location.user !== null) await chown(draft, location.user.uid, location.user.gid)
  try {
    await run(
      join(binaries, 'bin', 'initdb'),
      ['-D', draft, ...INITDB_OPTIONS, ...(location.durable ? [] : ['--no-sync'])],
      spawnOptions(location),
    )
    await rename(draft, location.database)
  } catch (cause) {
    await rm(draft, { recursive: true, force: true })
    if (existsSync(join(location.database, 'PG_VERSION'))) return
    const detail = String((cause as { stderr?: string }).stderr ?? cause).trim()
    throw new OperatorError(
      `A pasta de dados do PostgreSQL não pôde ser criada: ${detail}. Defina DATABASE_URL para usar um servidor existente.`,
      { cause },
    )
  }
}

async function checkVersion(location: Location, binaries: string): Promise<void> {
  const made = readFileSync(join(location.database, 'PG_VERSION'), 'utf8').trim()
  const { stdout } = await run(join(binaries, 'bin', 'postgres'), ['--version'], spawnOptions(location))
  const ours = /(\d+)\./.exec(stdout)?.[1]
  if (made !== ours) {
    throw new OperatorError(
      `O banco em ${location.database} foi criado pelo PostgreSQL ${made}; esta instalação tem o ${ours}. Veja "Atualização" em docs/operacao.md.`,
    )
  }
}

async function startServer(location: Location, binaries: string): Promise<void> {
  await removeStalePidFile(location)
  const log = openSync(join(location.folder, 'postgres.log'), 'a', 0o600)
  const settings = {
    listen_addresses: '',
    unix_socket_directories: location.sockets,
    unix_socket_permissions: '0700',
    max_connections: '200',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    jit: 'off',
    synchronous_commit: 'on',
    ...(location.durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
    log_timezone: 'UTC',
  }
  const child = spawn(
    join(binaries, 'bin', 'postgres'),
    ['-D', location.database, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // Detached, because a Ctrl-C in the terminal must not stop it before the work in flight is finished.
    { ...spawnOptions(location), detached: true, stdio: ['ignore', log, log] },
  )
  child.on('error', () => {})
  child.unref()
  // When two processes start a server, PostgreSQL's lock file lets one of them win. Wait until it exists or our child has ended.
  for (let round = 0; round < 200; round++) {
    if (child.exitCode !== null || postmasterPid(location) !== null) return
    await sleep(25)
  }
}

const spawnOptions = (location: Location): { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number } => ({
  // The user of the database may not be able to enter the current folder.
  cwd: '/',
  env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
  ...(location.user === null ? {} : { uid: location.user.uid, gid: location.user.gid }),
})

const pidFile = (location: Location): string => join(location.database, 'postmaster.pid')

/** The process id of the running server of this data folder. */
function postmasterPid(location: Location): number | null {
  try {
    const pid = Number(readFileSync(pidFile(location), 'utf8').split('\n')[0])
    return Number.isInteger(pid) && pid > 0 && isPostgres(pid) ? pid : null
  } catch {
    return null
  }
}

function isPostgres(pid: number): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres')
  } catch {
    return false
  }
}

/** PostgreSQL takes any process with the old id for its own. After a reboot or in a container that may be another program. */
async function removeStalePidFile(location: Location): Promise<void> {
  const text = await readFile(pidFile(location), 'utf8').catch(() => null)
  const pid = Number(text?.split('\n')[0])
  if (text !== null && pid > 0 && isAlive(pid) && !isPostgres(pid)) await rm(pidFile(location), { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** SIGINT is PostgreSQL's fast shutdown: it ends the sessions and writes a checkpoint. */
async function stopServer(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT')
  for (let round = 0; round < 600 && isAlive(pid); round++) await sleep(50)
}
