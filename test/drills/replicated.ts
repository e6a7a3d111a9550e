import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../../src/runtime/free-port.js'
import { findBinaries, serverUser } from '../../src/store/embedded/binaries.js'
import { type Embedded, openEmbedded } from '../../src/store/embedded/server.js'
import { SHARED_ROLE } from '../../src/store/postgres.js'

const STARTED_MS = 60_000

/** One PostgreSQL server on a port of its own, over an existing data folder. */
class Server {
  readonly port: number
  readonly #folder: string
  readonly #binaries: string
  readonly #settings: Record<string, string> = {}
  #process: ChildProcess | undefined

  constructor(folder: string, binaries: string, port: number) {
    this.#folder = folder
    this.#binaries = binaries
    this.port = port
  }

  get adminUrl(): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/carteiro`
  }

  async start(settings: Record<string, string> = {}): Promise<void> {
    Object.assign(this.#settings, settings)
    const user = serverUser()
    const fixed = {
      listen_addresses: '127.0.0.1',
      port: String(this.port),
      unix_socket_directories: '',
      max_connections: '200',
      fsync: 'off',
      full_page_writes: 'off',
      log_timezone: 'UTC',
    }
    const log = openSync(`${this.#folder}.log`, 'a')
    this.#process = spawn(
      join(this.#binaries, 'bin', 'postgres'),
      [
        '-D',
        this.#folder,
        ...Object.entries({ ...fixed, ...this.#settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      { cwd: '/', stdio: ['ignore', log, log], ...(user === null ? {} : { uid: user.uid, gid: user.gid }) },
    )
    for (const since = Date.now(); ; await sleep(100)) {
      if (await this.query('select 1').catch(() => null)) return
      if (Date.now() - since > STARTED_MS)
        throw new Error(`PostgreSQL does not start: ${readFileSync(`${this.#folder}.log`, 'utf8').slice(-2_000)}`)
    }
  }

  /** As the superuser. */
  async query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.adminUrl, connectionTimeoutMillis: 3_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query<Row>(sql)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  async set(name: string, value: string): Promise<void> {
    await this.query(`alter system set ${name} = '${value}'`)
    await this.query('select pg_reload_conf()')
  }

  async promote(): Promise<void> {
    // A query on a standby may be ended by what it replays.
    await until(async () => {
      await this.query('select pg_promote()').catch(() => {})
      return (await this.query('select where pg_is_in_recovery()').catch(() => [null])).length === 0
    })
  }

  /** kill -9: its sessions notice and end, and its port refuses. */
  async kill(): Promise<void> {
    if (this.#process === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null) return
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
  }

  async restart(settings: Record<string, string> = {}): Promise<void> {
    await this.kill()
    // The processes of the killed server need a moment to end, and the new one refuses to start before.
    for (let round = 0; ; round++) {
      try {
        rmSync(join(this.#folder, 'postmaster.pid'), { force: true })
        return await this.start(settings)
      } catch (error) {
        if (round === 3) throw error
        await this.kill()
      }
    }
  }
}

/** A primary and a standby that follows it. */
export interface Replicated {
  primary: Server
  standby: Server
  /** For a cluster: both servers in each URL. */
  database: Embedded
}

/** The standby begins as a copy of the stopped primary. `synchronous`: commits wait for it. */
export async function openReplicated(folder: string, synchronous: boolean): Promise<Replicated> {
  const embedded = await openEmbedded(folder, true, { durable: false })
  await embedded.close()
  const binaries = await findBinaries(folder, serverUser())
  const folders = ['primary', 'standby'].map(name => join(folder, name))
  for (const copy of folders) execFileSync('cp', ['-a', join(folder, 'postgres'), copy])
  const [primary, standby] = await Promise.all(folders.map(async copy => new Server(copy, binaries, await freePort())))
  await primary!.start()
  const signal = join(folders[1]!, 'standby.signal')
  writeFileSync(signal, '')
  const user = serverUser()
  if (user !== null) chownSync(signal, user.uid, user.gid)
  // Not on the command line, which would outdo a later "alter system".
  const follows = `host=127.0.0.1 port=${primary!.port} user=postgres application_name=replica`
  appendFileSync(join(folders[1]!, 'postgresql.auto.conf'), `primary_conninfo = '${follows}'\n`)
  await standby!.start()
  await until(async () => (await primary!.query("select from pg_stat_replication where state = 'streaming'")).length === 1)
  if (synchronous) await primary!.set('synchronous_standby_names', 'replica')
  const urlAs = (role: string): string =>
    `postgresql://${role}@127.0.0.1:${primary!.port},127.0.0.1:${standby!.port}/carteiro?target_session_attrs=read-write`
  const close = async (): Promise<void> => {
    await Promise.all([primary!.kill(), standby!.kill()])
  }
  return {
    primary: primary!,
    standby: standby!,
    database: { url: urlAs(SHARED_ROLE), ownerUrl: urlAs('carteiro'), adminUrl: standby!.adminUrl, close },
  }
}

const WAIT_MS = 120_000

export async function until(isReached: () => Promise<boolean>, describe: () => string = () => ''): Promise<void> {
  for (const since = Date.now(); !(await isReached()); await sleep(50))
    if (Date.now() - since > WAIT_MS) throw new Error(`a state that was waited for did not come: ${describe()}`)
}
