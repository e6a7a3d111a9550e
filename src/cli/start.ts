import { join } from 'node:path'
import { Command, Option } from 'commander'
import { type Config, readConfig } from '../app/config.js'
import { type Database, openDatabase, openRolePool, prepareDatabase, warnAsynchronous, warnUnprotected } from '../app/database.js'
import { MEMORY_FILE } from '../app/database-memory.js'
import { openDemo } from '../app/demo.js'
import { holdInstallation } from '../app/hold-installation.js'
import { loadKeys } from '../app/keys.js'
import { type Log, openLog } from '../app/log.js'
import { followRotation } from '../app/master-key-rotation.js'
import { aborted, type Stop, stopSignals, unlessAborted, untilAborted } from '../app/stop.js'
import { supervise } from '../app/supervisor.js'
import { OperatorError, StoreUnavailable } from '../domain/errors.js'
import { runChores } from '../runtime/chores.js'
import { findBeyond } from '../store/migrate.js'
import { countStart } from '../store/processes.js'
import { print } from './output.js'

type Role = 'api' | 'worker' | 'all'
type StartOptions = { role: Role; simulator?: boolean; json?: boolean; paused?: boolean }

export function startCommand(): Command {
  return new Command('start')
    .description('inicia o serviço')
    .addOption(new Option('--role <papel>', 'papel deste processo').choices(['api', 'worker', 'all']).default('all'))
    .option('--simulator', 'liga o simulador de operadoras')
    .option('--no-simulator', 'desliga o simulador de operadoras')
    .option('--paused', 'aceita envios e não envia nada até carteiro resume --all')
    .option('--json', 'mostra o que iniciou em JSON, numa linha')
    .action(async ({ role, simulator, json = false, paused = false }: StartOptions) => {
      const env = { ...process.env, ...(simulator === undefined ? {} : { SIMULATOR: simulator ? 'on' : 'off' }) }
      if (role === 'all') await supervise(env, { json, paused })
      else await runRole(role, env, { json, paused })
      // Not by running out of work: Node.js then gives its signals up first, and one that comes late would end it as a failure.
      process.exit(0)
    })
}

/** A role starts no simulator. Without the address of one, messages of test tokens would be accepted and wait for ever. */
function readRoleConfig(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env)
  if (!config.simulator || config.simulatorUrl !== null) return config
  if (env.SIMULATOR === 'on')
    throw new OperatorError(
      'SIMULATOR=on com --role pede SIMULATOR_URL e SIMULATOR_KEY: um papel não inicia o simulador. Rode carteiro simulate à parte, ou retire SIMULATOR.',
    )
  return { ...config, simulator: false }
}

/** One role in this process: a node of several on one database, or a child of the supervisor. */
async function runRole(role: 'api' | 'worker', env: NodeJS.ProcessEnv, options: Pick<Serving, 'json' | 'paused'>): Promise<void> {
  const config = readRoleConfig(env)
  const log = openLog(config.logLevel, role)
  const stop = stopSignals()
  // The supervisor is gone: nobody else will tell us to stop.
  process.on('disconnect', stop.ask)
  try {
    await untilAborted(stop.asked, async () => {
      const database = await openDatabase(config, true, log, stop.asked)
      try {
        await serve(role, database, { config, ...options, log, stop })
      } finally {
        await database.close()
      }
    })
  } catch (error) {
    if (stop.asked.aborted) log.fatal({ err: error }, 'stopping failed')
    if (error instanceof OperatorError) tellParent({ failed: error.message })
    throw error
  }
  log.info('stopped')
}

interface Serving {
  config: Config
  json: boolean
  paused: boolean
  log: Log
  stop: Stop
}

async function serve(role: 'api' | 'worker', database: Database, { config, json, paused, log, stop }: Serving): Promise<void> {
  const { keys } = await unlessAborted(
    stop.asked,
    prepareDatabase(database, (isNew, fingerprint) => loadKeys(config, isNew, fingerprint)),
  )
  const pool = openRolePool(config, database.url, log)
  await warnUnprotected(pool, log)
  await countStart(pool, role).catch(err => log.warn({ err }, 'this start could not be counted'))
  if (paused) await holdInstallation(pool)
  // A supervisor has done this already.
  if (process.send === undefined) {
    for (const warning of config.warnings) log.warn(warning)
    await warnAsynchronous(pool, log)
    if (config.hasCarriers) await openDemo(pool, keys, config)
  }
  // Each role loads what it runs and nothing else.
  const api = role === 'api' ? await (await import('../app/api.js')).buildApi({ config, keys, pool, log }) : null
  const startWorker = async () => {
    const worker = await import('../app/worker.js')
    worker.yieldToAnswers()
    return worker.startWorker({
      config,
      keys,
      pool,
      databaseUrl: database.url,
      log,
      memoryFile: join(config.dataFolder, MEMORY_FILE),
    })
  }
  const service = api ?? (await startWorker())
  let missed = false
  const followKey = async (): Promise<void> => {
    const found = await followRotation(config, keys, pool)
    if (found === 'rotated') log.warn({ fingerprint: keys.fingerprint }, 'the master key was rotated: this node uses the new one')
    if (found === 'missing' && !missed) log.error('the master key was rotated, and this node was not given the new one')
    missed = found === 'missing'
  }
  // A newer version may change the schema beside this one. What this one cannot run with ends it, and its next start says why.
  const outdated = new AbortController()
  const checkSchema = async (): Promise<void> => {
    const reason = await findBeyond(pool)
    if (reason !== null) outdated.abort(new OperatorError(reason))
  }
  const chores = [
    { name: 'master key', everyMs: 1_000, run: followKey },
    { name: 'schema', everyMs: 5_000, run: checkSchema },
  ]
  void runChores(chores, stop.asked, (chore, err) => {
    // Others tell of a database that is away.
    if (!(err instanceof StoreUnavailable)) log.warn({ chore, err }, 'a chore failed and will be tried again')
  })
  try {
    const address = api === null ? null : await api.listen()
    log.info({ address }, 'ready')
    tellParent({ ready: address })
    if (json) print(JSON.stringify({ role, api: address }))
    await unlessAborted(outdated.signal, aborted(stop.asked))
  } finally {
    log.info('stopping: finishing what is in flight')
    const closed = service.close().then(() => pool.end())
    await Promise.race([closed, aborted(stop.hurried)])
  }
}

/** A supervisor that is gone does not matter here: 'disconnect' tells of it. */
function tellParent(message: object): void {
  process.send?.(message, undefined, undefined, () => {})
}
