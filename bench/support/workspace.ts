import { type ChildProcess, type ForkOptions, fork, type SpawnOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { QueryConfig, QueryResultRow } from 'pg'
import { prepareDatabase } from '../../src/app/database/database.js'
import { moduleOf } from '../../src/channels/registry.js'
import { deriveKeys, type Keys } from '../../src/domain/access/keys.js'
import { signToken } from '../../src/domain/access/token.js'
import { newId } from '../../src/domain/id.js'
import { type LinkTarget, makeLinkCode } from '../../src/domain/recipient/link.js'
import { HOUR_MS } from '../../src/domain/units.js'
import { addRange, insertAccount } from '../../src/store/accounts/accounts.js'
import { insertToken } from '../../src/store/accounts/tokens.js'
import { type Embedded, openEmbedded } from '../../src/store/embedded/server.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import type { QueryCount } from './query-count.js'

/** All that a benchmark leaves behind while it runs, a temporary folder, a PostgreSQL and child processes, and its removal. */
export interface Subject {
  pool: Pool
  url: string
  /** For what only a superuser may do, such as a checkpoint. */
  admin: Pool
  token: string
  account: string
}

export interface Server {
  pid: number
  address: string
  /** Puts a process to sleep and wakes it up. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  countQueries(): Promise<QueryCount>
  stop(): Promise<void>
}

export interface ServerOptions {
  args?: readonly string[]
  poolSize: number
  env?: Record<string, string>
}

const fileOf = (name: string): string => fileURLToPath(new URL(`../${name}.js`, import.meta.url))
/** The files of the processes under test. */
const ROLES = { api: 'support/api-process', worker: 'support/worker-process', webhooks: 'webhooks/worker' } as const
/** Out of the way of what is measured, but still checked on every request. */
const REQUESTS_PER_MINUTE = 10_000_000

export class Workspace {
  readonly #folder = mkdtempSync(join(tmpdir(), 'carteiro-bench-'))
  readonly #masterKey = randomBytes(32)
  readonly #children = new Set<ChildProcess>()
  readonly #pools: Pool[] = []
  readonly #abort = new AbortController()
  #database: Promise<Embedded> | undefined
  #closing: Promise<void> | undefined

  get keys(): Keys {
    return deriveKeys(this.#masterKey)
  }

  /** Aborted once this is being taken down. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  async open(): Promise<void> {
    // As root, PostgreSQL runs under a user of its own, who has to get in.
    chmodSync(this.#folder, 0o755)
    this.#database = openEmbedded(this.folder('data'), true)
    await this.#database
  }

  folder(name: string): string {
    const path = join(this.#folder, name)
    mkdirSync(path, { recursive: true })
    return path
  }

  /** Of a recipient's link, as the servers of this workspace give it out. */
  linkCode({ notification, channel }: LinkTarget): string {
    return makeLinkCode(deriveKeys(this.#masterKey).link, notification, moduleOf(channel).linkCode)
  }

  /** A migrated database of its own, with one account and its token. */
  async createSubject(name: string): Promise<Subject> {
    const server = await this.#database!
    await this.#connect(server.adminUrl, true).query(`create database "${name}" owner carteiro`)
    const [url, ownerUrl, adminUrl] = [server.url, server.ownerUrl, server.adminUrl].map(address =>
      address.replace(/[^/]+$/, name),
    )
    const { keys } = this
    await prepareDatabase({ url: url!, ownerUrl: ownerUrl! }, () => keys)
    const pool = this.#connect(url!)
    const admin = this.#connect(adminUrl!, true)
    const now = Date.now()
    const account = newId(now)
    await insertAccount(pool, {
      id: account,
      name: 'bench',
      entityId: newId(now),
      entityName: 'bench',
      settings: { 'limit.registered': REQUESTS_PER_MINUTE },
    })
    await addRange(pool, account, '127.0.0.0/8')
    const claims = { jti: newId(now), account, mode: 'live' as const, issuedAt: new Date(now), expiresAt: null }
    await insertToken(pool, claims)
    return { pool, url: url!, admin, account, token: await signToken(keys.tokenSigning, claims) }
  }

  /** Gives the room on the disk back before the end. */
  async dropSubject({ pool, admin, url }: Subject): Promise<void> {
    for (const open of [pool, admin]) {
      this.#pools.splice(this.#pools.indexOf(open), 1)
      await open.end()
    }
    const server = await this.#database!
    await runAsOwner(this.#connect(server.adminUrl, true), `drop database "${new URL(url).pathname.slice(1)}" with (force)`)
  }

  #connect(url: string, asOwner = false): Pool {
    this.signal.throwIfAborted()
    const pool = openPool({ url, size: 1, asOwner, onError: () => {} })
    this.#pools.push(pool)
    return pool
  }

  startServer(subject: Subject, args: readonly string[], poolSize: number): Promise<Server> {
    return this.startRole('api', subject, { args, poolSize })
  }

  /** The gateway's api or worker, or its webhooks alone, as a process of its own. */
  async startRole(role: keyof typeof ROLES, subject: Subject, { args = [], poolSize, env = {} }: ServerOptions): Promise<Server> {
    const settings = {
      PORT: '0',
      DATABASE_URL: subject.url,
      DATABASE_POOL: String(poolSize),
      CARTEIRO_MASTER_KEY: this.#masterKey.toString('hex'),
      LOG_LEVEL: 'warn',
      ...env,
    }
    // In a session of its own, as the supervisor starts it: Linux shares the processors among sessions first.
    const child = this.fork(ROLES[role], args, settings, { detached: true })
    const { ready } = await answerOf<{ ready: string }>(child)
    return {
      pid: child.pid!,
      address: ready,
      signal: name => void child.kill(name),
      countQueries: () => {
        child.send('count')
        return answerOf<QueryCount>(child)
      },
      stop: () => stop(child),
    }
  }

  /** A file of the benchmarks, named by its path without an ending, as a process of its own. */
  fork(name: string, args: readonly string[], env: Record<string, string>, options: ForkOptions = {}): ChildProcess {
    this.signal.throwIfAborted()
    const child = fork(fileOf(name), args, {
      ...options,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.keep(child)
    return child
  }

  /** Any other program of the benchmark; ended with it at the latest. */
  spawn(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    this.signal.throwIfAborted()
    const child = spawn(command, args, options)
    this.keep(child)
    return child
  }

  keep(child: ChildProcess): ChildProcess {
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    child.once('error', () => this.#children.delete(child))
    return child
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#abort.abort()
    await Promise.all([...this.#children].map(stop))
    await Promise.all(this.#pools.map(pool => pool.end()))
    await (await this.#database)?.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** What takes minutes with a large store, on a connection of its own. */
export async function runAsOwner<Row extends QueryResultRow>(admin: Pool, text: string): Promise<Row[]> {
  const owner = await admin.connect()
  try {
    await owner.query("set statement_timeout = 0; set timezone = 'UTC'")
    const { rows } = await owner.query<Row>({ text, query_timeout: HOUR_MS } as QueryConfig)
    return rows
  } finally {
    owner.release(true)
  }
}

/** The next message of a child; its end is an error. */
export async function answerOf<T>(child: ChildProcess): Promise<T> {
  const gone = new AbortController()
  try {
    const [message] = await Promise.race([
      once(child, 'message', gone),
      once(child, 'exit', gone).then(() => {
        throw new Error('a process under test ended too early')
      }),
    ])
    return message as T
  } finally {
    gone.abort()
  }
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(deadline)
}

/** Takes everything down however the work ends: well, by an error, or by Ctrl-C. */
export async function withWorkspace(work: (workspace: Workspace) => Promise<void>): Promise<void> {
  const workspace = new Workspace()
  const interrupt = (): void => {
    workspace.close().finally(() => process.exit(130))
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  try {
    await workspace.open()
    await work(workspace)
  } catch (error) {
    // What breaks because we take it down is no news.
    if (!workspace.signal.aborted) throw error
  } finally {
    await workspace.close()
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}
