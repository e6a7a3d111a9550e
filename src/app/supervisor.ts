import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { banner } from './banner.js'
import { Child } from './child.js'
import { type Config, readConfig } from './config.js'
import { type Database, openDatabase, openRolePool, prepareDatabase } from './database.js'
import { openDemo } from './demo.js'
import { loadKeys } from './keys.js'
import { type Log, openLog } from './log.js'
import { aborted, type Stop, stopSignals, unlessAborted, untilAborted } from './stop.js'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))

/** `start` in role all: opens the database, then runs one process per role, restarts one that ends and stops them in order. */
export async function supervise(env: NodeJS.ProcessEnv, json: boolean): Promise<void> {
  const config = readConfig(env)
  const log = openLog(config.logLevel, 'supervisor')
  for (const warning of config.warnings) log.warn(warning)
  const stop = stopSignals()
  if (config.databaseUrl === null && !json) process.stdout.write('Preparando o banco de dados…\n')
  await untilAborted(stop.asked, async () => {
    const database = await openDatabase(config, true, log, stop.asked)
    try {
      await superviseOn(database, { config, env, json, log, stop })
    } finally {
      await database.close()
    }
  })
}

interface Supervision {
  config: Config
  env: NodeJS.ProcessEnv
  json: boolean
  log: Log
  stop: Stop
}

async function superviseOn(database: Database, { config, env, json, log, stop }: Supervision): Promise<void> {
  const { keys } = await unlessAborted(
    stop.asked,
    prepareDatabase(database, isNew => loadKeys(config, isNew)),
  )
  const pool = openRolePool(config, database.url, log)
  const token = await openDemo(pool, keys, config)
  await pool.end()

  const children: Child[] = []
  const start = (args: string[], childEnv: NodeJS.ProcessEnv): Promise<string | null> => {
    const child = new Child({ program: PROGRAM, args, env: childEnv, log })
    children.unshift(child)
    return child.start()
  }
  // The roles do not get the owner's password: the schema is up to date.
  const { DATABASE_OWNER_URL: _, ...roleEnv } = env
  const startAll = async (): Promise<void> => {
    // A simulator of this start gets a key of this start: only our own processes may use its carriers.
    const keyed = config.simulatorUrl === null ? { ...roleEnv, SIMULATOR_KEY: randomBytes(32).toString('hex') } : roleEnv
    const simulator = config.simulator ? (config.simulatorUrl ?? (await start(await simulatorArguments(config), keyed))) : null
    const childEnv = { ...keyed, DATABASE_URL: database.url, ...(simulator === null ? {} : { SIMULATOR_URL: simulator }) }
    const address = await start(['start', '--role', 'api'], childEnv)
    // The links in messages must lead to the address on which the api really listens.
    await start(['start', '--role', 'worker'], { PUBLIC_URL: address!, ...childEnv })
    const started = { api: address!, simulator, token }
    process.stdout.write(json ? `${JSON.stringify({ role: 'all', ...started })}\n` : await banner(config, started))
  }
  try {
    await unlessAborted(stop.asked, startAll())
    await aborted(stop.asked)
  } finally {
    // The last one started is stopped first: a worker must not find its simulated carriers closed.
    for (const child of children) await child.stop(stop.hurried)
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
