import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../src/app/config.js'
import { openRolePool, prepareDatabase } from '../../src/app/database/database.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { openLog } from '../../src/app/log.js'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { findAccount, updateSettings } from '../../src/store/accounts/accounts.js'
import { type Embedded, openEmbedded } from '../../src/store/embedded/server.js'
import type { Pool } from '../../src/store/postgres.js'
import { Balancer } from './balancer.js'

/** Any number of api and worker processes on one database, with the simulator as carrier: what a drill breaks. */
export const METRICS_TOKEN = 'leitura-das-metricas'
/** The folder of this build. */
const DIST = fileURLToPath(new URL('../../', import.meta.url))
const KEY = 'd5'.repeat(32)
const SIMULATOR_KEY = '51'.repeat(32)

/** The program of a build. */
export const mainOf = (dist: string): string => join(dist, 'src/main.js')

export class Node {
  readonly role: 'api' | 'worker' | 'simulator'
  url = ''
  readonly #file: string
  readonly #env: NodeJS.ProcessEnv
  #args: string[]
  #process: ChildProcess | undefined
  /** Whether the process said that it is about to freeze. */
  frozen = false
  /** What the process wrote to its log. */
  log = ''

  constructor(role: Node['role'], file: string, args: string[], env: NodeJS.ProcessEnv) {
    this.role = role
    this.#file = file
    this.#args = args
    this.#env = env
  }

  async start(args = this.#args): Promise<void> {
    const child = fork(this.#file, args, { env: this.#env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    child.stderr!.on('data', (chunk: Buffer) => {
      this.log += chunk
      // Whoever keeps a log reads it; what is fatal, or no log at all, is for whoever watches the drill.
      if (this.#env.LOG_LEVEL === 'fatal') process.stderr.write(chunk)
    })
    this.#process = child
    this.frozen = false
    child.on('message', (message: { frozen?: boolean }) => {
      if (message.frozen === true) this.frozen = true
    })
    const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [null])])) as [
      { ready?: string; failed?: string } | null,
    ]
    if (message === null || message.failed !== undefined) throw new Error(`${this.role} did not start`)
    if (message.ready != null) {
      this.url = message.ready
      // The same address after a death.
      if (this.role === 'api') this.#env.PORT = new URL(this.url).port
    }
  }

  setEnv(more: NodeJS.ProcessEnv): void {
    Object.assign(this.#env, more)
  }

  get alive(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  get pid(): number {
    return this.#process!.pid!
  }

  get wasKilled(): boolean {
    return this.#process?.signalCode === 'SIGKILL'
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name)
  }

  async ended(): Promise<void> {
    if (this.alive) await once(this.#process!, 'exit')
  }

  async stop(): Promise<void> {
    if (!this.alive) return
    this.signal('SIGTERM')
    await this.ended()
  }
}

const CALLED_OFF = ['SIGINT', 'SIGTERM'] as const

export interface ClusterSize {
  apis: number
  workers: number
  leaseMs: number
  workerArgs?: readonly string[]
  /** Settings of the gateway's processes, such as carriers. */
  env?: NodeJS.ProcessEnv
  /** Servers that run already; without them, the cluster runs one of its own. */
  database?: Embedded
  /** Carriers and clients know one address, whichever nodes of the API there are. */
  balanced?: boolean
}

export class Cluster {
  readonly folder: string
  readonly apis: Node[] = []
  readonly workers: Node[] = []
  simulator!: Node
  token = ''
  pool!: Pool
  /** Of the database's superuser. */
  adminUrl = ''
  /** Of the owner of the tables. */
  ownerUrl = ''
  /** What a process of this cluster is started with. */
  env: NodeJS.ProcessEnv = {}
  /** What the keeper of the database said. */
  readonly reports: { message: string; err?: unknown }[] = []
  #database!: Embedded
  #balancer: Balancer | undefined
  #workerArgs: string[] = []
  readonly #isOurs: boolean
  #stopped: Promise<void> | undefined
  #count = 0
  /** A drill that is called off takes its processes and its database with it. */
  readonly #calledOff = (): void => void this.stop().finally(() => process.exit(1))

  /** `folder`: an existing one, which the caller removes. */
  constructor(folder?: string) {
    this.folder = folder ?? mkdtempSync(join(tmpdir(), 'carteiro-drill-'))
    this.#isOurs = folder === undefined
    if (this.#isOurs) chmodSync(this.folder, 0o755)
    for (const signal of CALLED_OFF) process.once(signal, this.#calledOff)
  }

  async start(size: ClusterSize): Promise<void> {
    const report = (details: object, message: string): unknown => this.reports.push({ ...details, message })
    this.#database = size.database ?? (await openEmbedded(this.folder, true, { durable: false, report }))
    this.adminUrl = this.#database.adminUrl
    this.ownerUrl = this.#database.ownerUrl
    const env: NodeJS.ProcessEnv = {
      PATH: process.env.PATH,
      CARTEIRO_DATA: this.folder,
      CARTEIRO_MASTER_KEY: KEY,
      DATABASE_URL: this.#database.url,
      PORT: '0',
      LOG_LEVEL: 'fatal',
      METRICS_TOKEN,
    }
    const config = readConfig(env)
    const { keys } = await prepareDatabase(this.#database, isNew => loadKeys(config, isNew))
    this.pool = openRolePool(config, this.#database.url, openLog('silent', 'drill'))
    await createDemo(this.pool)
    const demo = await findAccount(this.pool, 'demo')
    await updateSettings(this.pool, demo!.id, { 'limit.registered': 10_000_000 })
    this.token = (await demoToken(this.pool, keys))!
    this.simulator = new Node('simulator', mainOf(DIST), ['simulate', '--http-port', '0'], { ...env, SIMULATOR_KEY })
    await this.simulator.start()
    this.env = { ...env, SIMULATOR: 'on', SIMULATOR_URL: this.simulator.url, SIMULATOR_KEY, ...size.env }
    this.#workerArgs = ['--lease', String(size.leaseMs), ...(size.workerArgs ?? [])]
    if (size.balanced === true) {
      this.#balancer = await Balancer.open(() => this.apis.map(({ url }) => url))
      // Carriers sign the address that they call.
      this.env.PUBLIC_URL = this.#balancer.url
    }
    for (let n = 0; n < size.apis; n++) this.apis.push(this.#newNode('api', DIST))
    await Promise.all(this.apis.map(node => node.start()))
    for (let n = 0; n < size.workers; n++) this.workers.push(this.#newNode('worker', DIST))
    await Promise.all(this.workers.map(node => node.start()))
  }

  /** `dist`: the folder of another build. */
  #newNode(role: 'api' | 'worker', dist: string): Node {
    if (role === 'api') return new Node(role, mainOf(dist), ['start', '--role', 'api'], { ...this.env })
    // Where carriers call back.
    return new Node(role, join(dist, 'test/drills/worker.js'), this.#workerArgs, { ...this.env, PUBLIC_URL: this.urlFor(0) })
  }

  /** Starts one more. */
  async add(role: 'api' | 'worker', dist: string): Promise<Node> {
    const node = this.#newNode(role, dist)
    await node.start()
    if (role === 'api') this.apis.push(node)
    else this.workers.push(node)
    return node
  }

  /** Stops one for good. */
  async retire(node: Node, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    node.signal(signal)
    await node.ended()
    for (const nodes of [this.apis, this.workers]) if (nodes.includes(node)) nodes.splice(nodes.indexOf(node), 1)
  }

  /** Where a client sends its requests. */
  urlFor(client: number): string {
    return this.#balancer?.url ?? this.apis[client % this.apis.length]!.url
  }

  /** What the supervisor does for a process that ended. */
  async revive(): Promise<void> {
    for (const node of [...this.apis, ...this.workers]) if (!node.alive) await node.start().catch(() => {})
  }

  /** PostgreSQL's immediate shutdown: a crash as far as data is concerned. The keeper starts it again. */
  crashDatabase(): void {
    process.kill(this.#postmaster, 'SIGQUIT')
  }

  /** kill -9: its lock file stays. */
  killDatabase(): void {
    process.kill(this.#postmaster, 'SIGKILL')
  }

  get #postmaster(): number {
    return Number(readFileSync(join(this.folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** One number for each request of all drills on this cluster. */
  nextNumber(): number {
    return ++this.#count
  }

  async simulate(path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.simulator.url}/simulator/${path}`, {
      ...(body === undefined
        ? {}
        : { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return response.json()
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    for (const signal of CALLED_OFF) process.removeListener(signal, this.#calledOff)
    for (const node of [...this.workers, ...this.apis]) node.signal('SIGCONT')
    await Promise.all([...this.workers, ...this.apis].map(node => node.stop()))
    await this.simulator?.stop()
    this.#balancer?.close()
    await this.pool?.end()
    await this.#database?.close()
    if (this.#isOurs) rmSync(this.folder, { recursive: true, force: true })
  }
}
