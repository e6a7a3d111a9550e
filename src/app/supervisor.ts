import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { hasAccounts } from '../store/accounts/accounts.js'
import { Child } from './child.js'
import { type Config, readConfig } from './config.js'
import { type Database, openDatabase, openRolePool, prepareDatabase } from './database.js'
import { createDemo, demoParts, demoToken } from './demo.js'
import { loadKeys } from './keys.js'
import { type Log, openLog } from './log.js'
import { aborted, type Stop, stopSignals, unlessAborted, untilAborted } from './stop.js'

const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))

/** `start` in role all: opens the database, then runs one process per role, restarts one that ends and stops them in order. */
export async function supervise(env: NodeJS.ProcessEnv, json: boolean): Promise<void> {
  const config = readConfig(env)
  const log = openLog(config.logLevel, 'supervisor')
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
  if (config.simulator && !(await hasAccounts(pool))) await createDemo(pool)
  const token = config.simulator ? await demoToken(pool, keys) : null
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
    const simulator = config.simulator ? (config.simulatorUrl ?? (await start(await simulatorArguments(config), roleEnv))) : null
    const childEnv = { ...roleEnv, DATABASE_URL: database.url, ...(simulator === null ? {} : { SIMULATOR_URL: simulator }) }
    const address = await start(['start', '--role', 'api'], childEnv)
    // The links in messages must lead to the address on which the api really listens.
    await start(['start', '--role', 'worker'], { PUBLIC_URL: address!, ...childEnv })
    const record = { role: 'all', api: address, simulator, token }
    process.stdout.write(json ? `${JSON.stringify(record)}\n` : await banner(config, address!, simulator, token))
  }
  try {
    await unlessAborted(stop.asked, startAll())
    await aborted(stop.asked)
  } finally {
    // The last one started is stopped first: a worker must not find its simulated carriers closed.
    for (const child of children) await child.stop(stop.hurried)
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
