import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { OperatorError } from '../domain/errors.js'
import { hasAccounts } from '../store/accounts/accounts.js'
import { type Config, readConfig } from './config.js'
import { openDatabase, openRolePool, prepareDatabase } from './database.js'
import { createDemo, demoParts, demoToken } from './demo.js'
import { loadKeys } from './keys.js'
import { type Log, openLog } from './log.js'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))
const RESTART_MS = 1_000

/** `start` in role all: opens the database, then runs one process per role, restarts one that ends and stops them in order. */
export async function supervise(env: NodeJS.ProcessEnv, json: boolean): Promise<void> {
  const config = readConfig(env)
  const log = openLog(config.logLevel, 'supervisor')
  const stop = stopSignal()
  if (config.databaseUrl === null && !json) process.stdout.write('Preparando o banco de dados…\n')
  const database = await openDatabase(config, true)
  try {
    const keys = loadKeys(config)
    const pool = openRolePool(config, database.url, log)
    await prepareDatabase(pool, keys)
    if (config.simulator && !(await hasAccounts(pool))) await createDemo(pool)
    const token = config.simulator ? await demoToken(pool, keys) : null
    await pool.end()

    const children: Child[] = []
    const start = (args: string[], childEnv: NodeJS.ProcessEnv): Promise<string | null> => {
      const child = new Child(args, childEnv, log)
      children.unshift(child)
      return child.start()
    }
    const startAll = async (): Promise<void> => {
      // A simulator of this start gets a key of this start: only our own processes may use its carriers.
      const keyed = config.simulatorUrl === null ? { ...env, SIMULATOR_KEY: randomBytes(32).toString('hex') } : env
      const simulator = config.simulator ? (config.simulatorUrl ?? (await start(await simulatorArguments(config), keyed))) : null
      const childEnv = { ...keyed, DATABASE_URL: database.url, ...(simulator === null ? {} : { SIMULATOR_URL: simulator }) }
      const address = await start(['start', '--role', 'api'], childEnv)
      // The links in messages must lead to the address on which the api really listens.
      await start(['start', '--role', 'worker'], { PUBLIC_URL: address!, ...childEnv })
      const record = { role: 'all', api: address, simulator, token }
      process.stdout.write(json ? `${JSON.stringify(record)}\n` : await banner(config, address!, simulator, token))
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

/** Shown after the start: the addresses, and a first send that is ready to be pasted into a shell. */
async function banner(config: Config, address: string, simulator: string | null, token: string | null): Promise<string> {
  const database = config.databaseUrl === null ? `PostgreSQL embutido em ${config.dataFolder}` : 'PostgreSQL de DATABASE_URL'
  const lines = ['', 'Carteiro está no ar.', '', `  API    ${address}`, `  Saúde  ${address}/readyz`, `  Dados  ${database}`]
  if (simulator !== null) lines.push(`  Caixa de entrada simulada  ${simulator}`)
  if (token !== null) {
    const message = { subject: 'Aviso de vencimento', content: '<p>Seu contrato vence em 30 dias.</p>' }
    const body = JSON.stringify({ nameTo: 'Maria da Silva', ...message, ...(await demoParts()) })
    lines.push('', '  Conta de demonstração: demo', `  Token  ${token}`, '', '  Primeiro envio:', '')
    lines.push(`curl ${address}/gw/email \\`, `  -H 'Authorization: ${token}' \\`)
    lines.push("  -H 'Content-Type: application/json' \\", `  -d '${body}'`)
  }
  return `${[...lines, '', '  Ctrl-C encerra.', ''].join('\n')}\n`
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
