import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, lstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { chown, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { OperatorError } from '../domain/errors.js'
import { canReach, findBinaries, type ServerUser, serverUser } from './embedded-binaries.js'

/**
 * A real PostgreSQL server of our own, on a Unix socket inside the data folder. It is not tied to the process that
 * started it: after a kill -9 the next start adopts it. Whoever leaves last stops it, so commands work both while the
 * gateway runs and while it is stopped.
 */
export interface Embedded {
  url: string
  /** Gives the server back; stops it when nobody else uses it. */
  close(): Promise<void>
}

const USER = 'carteiro'
const DATABASE = 'carteiro'
const OWNER_LOCK = 7_261_010
const USERS_LOCK = 7_261_011
const SOCKET_FILE = '/.s.PGSQL.5432'
/** sun_path of Linux and macOS, less its closing NUL. */
const MAX_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107
/** Recovery after a crash replays the log first; minutes are normal on slow disks. */
const START_TIMEOUT_MS = 120_000
const run = promisify(execFile)

interface Place {
  folder: string
  database: string
  sockets: string
  user: ServerUser | null
  durable: boolean
}

/**
 * `exclusive`: be the one gateway on this data folder; refused while another one is. `durable: false`: commits do not wait
 * for the disk. A crash of the machine then destroys the database, so this is for tests alone.
 */
export async function openEmbedded(dataFolder: string, exclusive: boolean, { durable = true } = {}): Promise<Embedded> {
  const place = preparePlace(resolve(dataFolder), durable)
  const keeper = await holdServer(place, exclusive)
  return { url: urlOf(place), close: () => keeper.close() }
}

const urlOf = (place: Place): string => `postgresql://${USER}@${encodeURIComponent(place.sockets)}/${DATABASE}`

function preparePlace(folder: string, durable: boolean): Place {
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
  // In a shared temporary folder somebody else may have put it there first.
  if (!found.isDirectory() || (owner !== null && found.uid !== wanted)) {
    throw new OperatorError(`${path} não é uma pasta nossa. Remova-a ou defina CARTEIRO_DATA com outra pasta.`)
  }
}

async function holdServer(place: Place, exclusive: boolean): Promise<{ close(): Promise<void> }> {
  let closing = false
  const attach = async (): Promise<pg.Client> => {
    const deadline = Date.now() + START_TIMEOUT_MS
    for (;;) {
      await ensureRunning(place, deadline)
      try {
        return await connect(place, exclusive)
      } catch (error) {
        // The last user before us may be stopping the server at this very moment.
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
      // The server crashed, or was restarted under us: bring it back, take our place again.
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
        const pid = postmasterPid(place)
        if (rows[0]!.last && pid !== null) await stopServer(pid)
      } finally {
        await client.end().catch(() => {})
      }
    },
  }
}

async function connect(place: Place, exclusive: boolean): Promise<pg.Client> {
  await createDatabase(place)
  const client = new pg.Client({ connectionString: urlOf(place), application_name: 'carteiro keeper', keepAlive: true })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock_shared($1)', [USERS_LOCK])
    if (exclusive && !(await tryOwn(client))) {
      throw new OperatorError(
        `Já há um Carteiro em execução na pasta de dados ${place.folder}. Encerre-o antes, ou dê a este outra pasta (CARTEIRO_DATA) ou um banco compartilhado (DATABASE_URL).`,
      )
    }
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/** After a kill -9 the server needs a moment to notice that the former owner's connection is gone. */
async function tryOwn(client: pg.Client): Promise<boolean> {
  for (let round = 0; round < 20; round++) {
    const { rows } = await client.query<{ owned: boolean }>('select pg_try_advisory_lock($1) as owned', [OWNER_LOCK])
    if (rows[0]!.owned) return true
    await sleep(100)
  }
  return false
}

async function createDatabase(place: Place): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf({ ...place }).replace(/[^/]+$/, 'postgres') })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
  } catch (error) {
    // 42P04, 23505: another process made it in the same moment.
    if (!['42P04', '23505'].includes(String((error as { code?: string }).code))) throw error
  } finally {
    await client.end()
  }
}

async function ensureRunning(place: Place, deadline: number): Promise<void> {
  const binaries = await findBinaries(place.folder, place.user)
  await initialise(place, binaries)
  while (Date.now() < deadline) {
    if (await answers(place)) return
    if (postmasterPid(place) === null) await startServer(place, binaries)
    await sleep(50)
  }
  throw new OperatorError(`O PostgreSQL não iniciou a tempo. O registro dele está em ${join(place.folder, 'postgres.log')}.`)
}

async function answers(place: Place): Promise<boolean> {
  const client = new pg.Client({
    connectionString: urlOf(place).replace(/[^/]+$/, 'postgres'),
    connectionTimeoutMillis: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

async function initialise(place: Place, binaries: string): Promise<void> {
  if (existsSync(join(place.database, 'PG_VERSION'))) return checkVersion(place, binaries)
  // Made beside and renamed: a crash in the middle leaves nothing that looks like a database.
  const draft = `${place.database}.new-${process.pid}`
  await rm(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  if (place.user !== null) await chown(draft, place.user.uid, place.user.gid)
  try {
    await run(
      join(binaries, 'bin', 'initdb'),
      [
        '-D',
        draft,
        '-U',
        USER,
        '--auth=trust',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--locale=C.UTF-8',
        '--no-instructions',
        ...(place.durable ? [] : ['--no-sync']),
      ],
      spawnOptions(place),
    )
    await rename(draft, place.database)
  } catch (cause) {
    await rm(draft, { recursive: true, force: true })
    if (existsSync(join(place.database, 'PG_VERSION'))) return
    const detail = String((cause as { stderr?: string }).stderr ?? cause).trim()
    throw new OperatorError(
      `A pasta de dados do PostgreSQL não pôde ser criada: ${detail}. Defina DATABASE_URL para usar um servidor existente.`,
      { cause },
    )
  }
}

async function checkVersion(place: Place, binaries: string): Promise<void> {
  const made = readFileSync(join(place.database, 'PG_VERSION'), 'utf8').trim()
  const { stdout } = await run(join(binaries, 'bin', 'postgres'), ['--version'], spawnOptions(place))
  const ours = /(\d+)\./.exec(stdout)?.[1]
  if (made !== ours) {
    throw new OperatorError(
      `O banco em ${place.database} foi criado pelo PostgreSQL ${made}; esta instalação tem o ${ours}. Veja "Atualização" em docs/operacao.md.`,
    )
  }
}

async function startServer(place: Place, binaries: string): Promise<void> {
  await removeStalePidFile(place)
  const log = openSync(join(place.folder, 'postgres.log'), 'a', 0o600)
  const settings = {
    listen_addresses: '',
    unix_socket_directories: place.sockets,
    unix_socket_permissions: '0700',
    max_connections: '200',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    jit: 'off',
    synchronous_commit: 'on',
    ...(place.durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
    log_timezone: 'UTC',
  }
  const child = spawn(
    join(binaries, 'bin', 'postgres'),
    ['-D', place.database, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // Detached: a Ctrl-C in the terminal must not reach it before we have finished what is in flight.
    { ...spawnOptions(place), detached: true, stdio: ['ignore', log, log] },
  )
  child.on('error', () => {})
  child.unref()
  // Its own lock file tells who won when two starts coincide; here we only wait until it exists or the process ended.
  for (let round = 0; round < 200; round++) {
    if (child.exitCode !== null || postmasterPid(place) !== null) return
    await sleep(25)
  }
}

const spawnOptions = (place: Place): { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number } => ({
  // The current folder may be one that the database's user cannot enter.
  cwd: '/',
  env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
  ...(place.user === null ? {} : { uid: place.user.uid, gid: place.user.gid }),
})

const pidFile = (place: Place): string => join(place.database, 'postmaster.pid')

/** The process id of a server that lives on this data folder. */
function postmasterPid(place: Place): number | null {
  try {
    const pid = Number(readFileSync(pidFile(place), 'utf8').split('\n')[0])
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

/** PostgreSQL believes any living process with the old number; after a reboot or in a container that may be anyone. */
async function removeStalePidFile(place: Place): Promise<void> {
  const text = await readFile(pidFile(place), 'utf8').catch(() => null)
  const pid = Number(text?.split('\n')[0])
  if (text !== null && pid > 0 && isAlive(pid) && !isPostgres(pid)) await rm(pidFile(place), { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** SIGINT is PostgreSQL's "fast" stop: sessions are ended, everything is written. */
async function stopServer(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT')
  for (let round = 0; round < 600 && isAlive(pid); round++) await sleep(50)
}
