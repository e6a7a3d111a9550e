import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { MIB } from '../../domain/units.js'
import { invitationPath, inviteFirst } from '../../engine/console/invitations.js'
import { freePort } from '../../runtime/free-port.js'
import { type Config, readConfig } from '../config.js'
import { type Database, openDatabase, openRolePool, prepareDatabase, warnAsynchronous } from '../database/database.js'
import { holdInstallation } from '../database/hold-installation.js'
import { loadKeys } from '../database/keys.js'
import { type Log, openLog } from '../log.js'
import { banner } from './banner.js'
import { Child } from './child.js'
import { openDemo } from './demo.js'
import { aborted, type Stop, stopSignals, unlessAborted, untilAborted } from './stop.js'

const PROGRAM = fileURLToPath(new URL('../../main.js', import.meta.url))

/** `start` in role all: opens the database, then runs one process per role, restarts one that ends and stops them in order. */
export async function supervise(env: NodeJS.ProcessEnv, { json, paused }: Pick<Supervision, 'json' | 'paused'>): Promise<void> {
  const config = readConfig(env)
  const log = openLog(config.logLevel, 'supervisor')
  for (const warning of config.warnings) log.warn(warning)
  const stop = stopSignals()
  if (config.databaseUrl === null && !json) process.stdout.write('Preparando o banco de dados…\n')
  await untilAborted(stop.asked, async () => {
    const database = await openDatabase(config, true, log, stop.asked)
    try {
      await superviseOn(database, { config, env, json, paused, log, stop })
    } finally {
      await database.close()
    }
  })
}

interface Supervision {
  config: Config
  env: NodeJS.ProcessEnv
  json: boolean
  /** Nothing is sent until somebody resumes the installation. */
  paused: boolean
  log: Log
  stop: Stop
}

async function superviseOn(database: Database, { config, env, json, paused, log, stop }: Supervision): Promise<void> {
  const { keys } = await unlessAborted(
    stop.asked,
    prepareDatabase(database, (isNew, fingerprint) => loadKeys(config, isNew, fingerprint)),
  )
  const pool = openRolePool(config, database.url, log)
  if (paused) await holdInstallation(pool)
  await warnAsynchronous(pool, log)
  const token = await openDemo(pool, keys, config)
  const invitation = await inviteFirst(pool)
  await pool.end()

  const children: Child[] = []
  const start = async (args: () => readonly string[], childEnv: NodeJS.ProcessEnv): Promise<string | null> => {
    // The start goes on behind a stop that has begun. What it started now, nobody would end.
    stop.asked.throwIfAborted()
    const child = new Child({ program: PROGRAM, args, env: childEnv, log })
    children.unshift(child)
    return child.start()
  }
  const startSimulator = async (childEnv: NodeJS.ProcessEnv): Promise<string> => {
    const args = await simulatorArguments(config)
    // The simulator chooses the port of its page at the first start. A restart gets the same port, so that the page stays where it is.
    let pagePort: string | null = null
    const url = (await start(() => (pagePort === null ? args : [...args, '--http-port', pagePort]), childEnv))!
    if (!args.includes('--http-port')) pagePort = new URL(url).port
    return url
  }
  // The roles do not get the owner's password: the schema is up to date. Blank, because a role would read a missing name from .env again.
  const roleEnv = { ...env, DATABASE_OWNER_URL: '' }
  const startAll = async (): Promise<void> => {
    // A simulator of this start gets a key of this start: only our own processes may use its carriers.
    const keyed = config.simulatorUrl === null ? { ...roleEnv, SIMULATOR_KEY: randomBytes(32).toString('hex') } : roleEnv
    const simulator = config.simulator ? (config.simulatorUrl ?? (await startSimulator(keyed))) : null
    const childEnv = {
      ...keyed,
      DATABASE_URL: database.url,
      // With an address of its database, a role would take it for somebody else's and not watch its disk.
      DISK_FREE_MIB: String(config.minFreeBytes / MIB),
      ...(simulator === null ? {} : { SIMULATOR_URL: simulator }),
    }
    const address = await start(() => ['start', '--role', 'api'], childEnv)
    // The links in messages must lead to the address on which the api really listens.
    await start(() => ['start', '--role', 'worker'], { PUBLIC_URL: address!, ...childEnv })
    const link = invitation === null ? null : `${firstBase(config, address!)}${invitationPath(invitation)}`
    const started = { api: address!, simulator, token, link }
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

/** With port 0 the address is known only now. */
const firstBase = ({ port, publicUrl }: Config, address: string): string => (port === 0 ? address : publicUrl)

/** Free ports are chosen once: a simulator that is restarted must listen where the other processes know it. */
async function simulatorArguments({ simulatorPorts }: Config): Promise<string[]> {
  const args = ['simulate']
  for (const [name, port] of Object.entries(simulatorPorts)) {
    // The simulator itself looks for the port of its page, so that two starts at once do not choose the same one.
    if (name !== 'http' || port !== null) args.push(`--${name}-port`, String(port || (await freePort())))
  }
  return args
}
