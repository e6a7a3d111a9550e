import { execFile, execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, statfsSync, statSync } from 'node:fs'
import { chown, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { OperatorError } from '../../domain/errors.js'
import { MIB } from '../../domain/units.js'
import type { Location } from './location.js'

/** The server process of a data folder: created, found, started and stopped. */
const run = promisify(execFile)
export const SUPERUSER = 'postgres'
const INITDB_OPTIONS =
  `-U ${SUPERUSER} --auth=trust --encoding=UTF8 --locale-provider=builtin --locale=C.UTF-8 --no-instructions`.split(' ')
/** How much of the end of the log is looked at for the reason of a failure. */
const LOG_TAIL = 4_096
/** With less room than a segment of its log the server cannot write anything. */
const WAL_SEGMENT = 16 * MIB
/** A longer log is put aside when the server starts. */
const LONG_LOG = 16 * MIB

export const logFile = (location: Location): string => join(location.folder, 'postgres.log')

export async function initialise(location: Location, binaries: string, signal?: AbortSignal): Promise<void> {
  if (existsSync(join(location.database, 'PG_VERSION'))) return checkVersion(location, binaries)
  // Created under another name and renamed, so that a crash leaves no incomplete database.
  const draft = `${location.database}.new-${process.pid}`
  try {
    await rm(draft, { recursive: true, force: true })
    mkdirSync(draft, { mode: 0o700 })
    if (location.user !== null) await chown(draft, location.user.uid, location.user.gid)
    await run(join(binaries, 'bin', 'initdb'), ['-D', draft, ...INITDB_OPTIONS, ...(location.durable ? [] : ['--no-sync'])], {
      ...spawnOptions(location),
      ...(signal === undefined ? {} : { signal }),
    })
    await rename(draft, location.database)
  } catch (cause) {
    await rm(draft, { recursive: true, force: true })
    signal?.throwIfAborted()
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
      `O banco em ${location.database} foi criado pelo PostgreSQL ${made}, e esta versão do Carteiro traz o ${ours}. Nada foi mudado. ` +
        `Pare o serviço e, com a versão anterior do Carteiro, grave uma cópia: carteiro backup copia.carteiro. Depois renomeie ${location.database}, ` +
        `e com esta versão restaure: carteiro restore copia.carteiro. Veja "Atualização" em docs/operacao.md.`,
    )
  }
}

/** Starts the server and returns when its lock file exists or it has ended. */
export async function startServer(location: Location, binaries: string): Promise<void> {
  await removeStalePidFile(location)
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
  await putLogAside(location)
  const log = openSync(logFile(location), 'a', 0o600)
  let ended = false
  try {
    const child = spawn(
      join(binaries, 'bin', 'postgres'),
      ['-D', location.database, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      // Detached, because a Ctrl-C in the terminal must not stop it before the work in flight is finished.
      { ...spawnOptions(location), detached: true, stdio: ['ignore', log, log] },
    )
    child.once('error', () => {
      ended = true
    })
    child.once('exit', () => {
      ended = true
    })
    child.unref()
  } finally {
    closeSync(log)
  }
  // When two processes start a server, PostgreSQL's lock file lets one of them win.
  for (let round = 0; round < 200 && !ended && postmasterPid(location) === null; round++) await sleep(25)
}

/** One older log is kept. A log that cannot be renamed keeps no server from starting. */
async function putLogAside(location: Location): Promise<void> {
  const log = logFile(location)
  if (logSize(location) > LONG_LOG) await rename(log, `${log}.1`).catch(() => {})
}

export const logSize = (location: Location): number => statSync(logFile(location), { throwIfNoEntry: false })?.size ?? 0

/** Why the server ended: its own last words in the log from the given place on, or a disk on which it can write none. */
export function describeFailure(location: Location, since: number): string {
  const words = readLog(location, since).match(/(?:FATAL|PANIC): .*/g)
  if (words !== null) return ` Ele disse: ${words.at(-1)}.`
  const { bavail, bsize } = statfsSync(location.folder)
  const free = bavail * bsize
  return free < WAL_SEGMENT ? ` O disco de ${location.folder} está cheio (${Math.floor(free / 1_024)} KiB livres).` : ''
}

function readLog(location: Location, since: number): string {
  try {
    const file = openSync(logFile(location), 'r')
    try {
      const { size } = fstatSync(file)
      // A shorter log is another one: the longer was put aside since.
      const tail = Buffer.alloc(Math.min(size < since ? size : size - since, LOG_TAIL))
      readSync(file, tail, 0, tail.length, size - tail.length)
      return tail.toString()
    } finally {
      closeSync(file)
    }
  } catch {
    return ''
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
export function postmasterPid(location: Location): number | null {
  try {
    const pid = Number(readFileSync(pidFile(location), 'utf8').split('\n')[0])
    return Number.isInteger(pid) && pid > 0 && isServerOf(location, pid) ? pid : null
  } catch {
    return null
  }
}

/**
 * Whether a process is the server of this data folder. After a reboot or in a container its number may belong to any other
 * program, and to the PostgreSQL of somebody else too: that one is neither waited for nor stopped.
 */
function isServerOf(location: Location, pid: number): boolean {
  if (!isAlive(pid)) return false
  try {
    // A server works inside its data folder. Compared by inode: the folder may be reached by several paths.
    const [cwd, database] = [`/proc/${pid}/cwd`, location.database].map(path => statSync(path))
    return cwd!.ino === database!.ino && cwd!.dev === database!.dev && commandOf(pid).includes('postgres')
  } catch {
    // Not Linux, or the process of another user in a container without ptrace. We start servers with "-D folder".
    return commandOf(pid).includes(`-D ${location.database} `)
  }
}

function commandOf(pid: number): string {
  try {
    if (process.platform !== 'linux')
      return `${execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })} `
    return `${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')} `
  } catch {
    return ''
  }
}

/** PostgreSQL takes any process with the old id for its own. */
async function removeStalePidFile(location: Location): Promise<void> {
  const text = await readFile(pidFile(location), 'utf8').catch(() => null)
  const pid = Number(text?.split('\n')[0])
  if (text !== null && pid > 0 && isAlive(pid) && !isServerOf(location, pid)) await rm(pidFile(location), { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** How long a server is waited for that stops. */
export const LONGEST_STOP_MS = 30_000

/** SIGINT is PostgreSQL's fast shutdown: it ends the sessions and writes a checkpoint. */
export async function stopServer(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT')
  const until = performance.now() + LONGEST_STOP_MS
  while (performance.now() < until && isAlive(pid)) await sleep(50)
}
