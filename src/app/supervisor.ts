import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { OperatorError } from '../domain/errors.js'
import { banner } from './banner.js'
import { type Config, readConfig } from './config.js'
import { openDatabase, openRolePool, prepareDatabase } from './database.js'
import { openDemo } from './demo.js'
import { loadKeys } from './keys.js'
import { type Log, openLog } from './log.js'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))
const RESTART_MS = 1_000

/** `start` in role all: opens the database, then runs one process per role, restarts one that ends and stops them in order. */
export async function supervise(env: NodeJS.ProcessEnv, json: boolean): Promise<void> {
  const config = readConfig(env)
  const log = openLog(config.logLevel, 'supervisor')
  for (const warning of config.warnings) log.warn(warning)
  const stop = stopSignal()
  if (config.databaseUrl === null && !json) process.stdout.write('Preparando o banco de dados…\n')
  const database = await openDatabase(config, true)
  try {
    const keys = loadKeys(config)
    const pool = openRolePool(config, database.url, log)
    await prepareDatabase(pool, keys)
    const token = await openDemo(pool, keys, config)
    await pool.end()

    const children: Child[] = []
    const start = (args: string[], childEnv: NodeJS.ProcessEnv): Promise<string | null> => {
      const child = new Child(args, childEnv, log)
      children.unshift(child)
      return child.start()
    }
    const startAll = async (): Promise<void> => {
      const simulator = config.simulator ? (config.simulatorUrl ?? (await start(await simulatorArguments(config), env))) : null
      const childEnv = { ...env, DATABASE_URL: database.url, ...(simulator === null ? {} : { SIMULATOR_URL: simulator }) }
      const address = await start(['start', '--role', 'api'], childEnv)
      // The links in messages must lead to the address on which the api really listens.
      await start(['start', '--role', 'worker'], { PUBLIC_URL: address!, ...childEnv })
      const started = { api: address!, simulator, token }
      process.stdout.write(json ? `${JSON.stringify({ role: 'all', ...started })}\n` : await banner(config, started))
    }
    try {
      await Promise.race([startAll(), stop])
      await stop
    } finally {
      // The last one started is stopped first: a worker must not find its simulated carriers closed.
      for (const child of children) await child.stop()
    }
  } finally {
    await database.close()
  }
}

/** Free ports are chosen here, once: a simulator that is restarted must listen where the other processes know it. */
async function simulatorArguments({ simulatorPorts }: Config): Promise<string[]> {
  const args = ['simulate']
  for (const [name, port] of Object.entries(simulatorPorts)) args.push(`--${name}-port`, String(port || (await freePort())))
  return args
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves at the first SIGTERM or SIGINT; the second one ends the process at once. */
const stopSignal = (): Promise<void> =>
  new Promise(resolve => {
    let asked = false
    const onSignal = (): void => {
      if (asked) process.exit(1)
      asked = true
      resolve()
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })

class Child {
  readonly #args: string[]
  readonly #env: NodeJS.ProcessEnv
  readonly #log: Log
  #process: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined
  #stopping = false

  constructor(args: string[], env: NodeJS.ProcessEnv, log: Log) {
    this.#args = args
    this.#env = env
    this.#log = log
  }

  /** Resolves with the address once the child is ready. The first start must succeed; later ones are tried again. */
  start(): Promise<string | null> {
    return new Promise((resolve, reject) => {
      let ready = false
      const child = fork(PROGRAM, this.#args, {
        env: this.#env,
        // Ctrl-C reaches the terminal's whole process group; a detached child gets its SIGTERM from here instead.
        detached: true,
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      this.#process = child
      child.on('message', (message: { ready?: string | null; failed?: string }) => {
        if (message.failed !== undefined) reject(new OperatorError(message.failed))
        if (message.ready === undefined) return
        ready = true
        resolve(message.ready)
      })
      child.on('exit', (code, signal) => {
        if (this.#stopping) return
        if (!ready)
          return reject(new OperatorError(`O processo "${this.#args.join(' ')}" não iniciou (código ${code ?? signal}).`))
        this.#log.error({ child: this.#args.join(' '), code, signal }, 'a process ended and is started again')
        this.#again()
      })
    })
  }

  #again(): void {
    this.#restart = setTimeout(() => this.start().catch(() => this.#again()), RESTART_MS)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restart)
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
}
