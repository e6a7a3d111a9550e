import { join } from 'node:path'
import type { Keys } from '../../domain/access/keys.js'
import { OperatorError, StoreUnavailable } from '../../domain/errors.js'
import { runChores } from '../../runtime/chores.js'
import { whenParentIsGone } from '../../runtime/parent.js'
import { findBeyond } from '../../store/migrate.js'
import type { Pool } from '../../store/postgres.js'
import { countStart } from '../../store/processes.js'
import { type Config, readConfig } from '../config.js'
import {
  type Database,
  openDatabase,
  openRolePool,
  prepareDatabase,
  warnAsynchronous,
  warnUnprotected,
} from '../database/database.js'
import { MEMORY_FILE } from '../database/database-memory.js'
import { holdInstallation } from '../database/hold-installation.js'
import { loadKeys } from '../database/keys.js'
import { followRotation } from '../database/master-key-rotation.js'
import { type Log, openLog } from '../log.js'
import { openDemo } from './demo.js'
import { aborted, type Stop, stopSignals, unlessAborted, untilAborted } from './stop.js'

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
export async function runRole(
  role: 'api' | 'worker',
  env: NodeJS.ProcessEnv,
  options: Pick<Serving, 'json' | 'paused'>,
): Promise<void> {
  const config = readRoleConfig(env)
  const log = openLog(config.logLevel, role)
  const stop = stopSignals()
  // The supervisor is gone: nobody else will tell us to stop.
  whenParentIsGone(stop.ask)
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
  const api = role === 'api' ? await (await import('../api/api.js')).buildApi({ config, keys, pool, log }) : null
  const startWorker = async () => {
    const worker = await import('../worker/worker.js')
    worker.yieldToAnswers()
    worker.collectGarbageInOneThread()
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
  const outdated = watchInstallation({ config, keys, pool, log, stop })
  try {
    const address = api === null ? null : await api.listen()
    log.info({ address }, 'ready')
    tellParent({ ready: address })
    if (json) process.stdout.write(`${JSON.stringify({ role, api: address })}\n`)
    await unlessAborted(outdated, aborted(stop.asked))
  } finally {
    log.info('stopping: finishing what is in flight')
    const closed = service.close().then(() => pool.end())
    await Promise.race([closed, aborted(stop.hurried)])
  }
}

/** Follows a rotation of the master key. The signal: a newer version changed the schema, and this one cannot run with it; its next start says why. */
function watchInstallation({
  config,
  keys,
  pool,
  log,
  stop,
}: Pick<Serving, 'config' | 'log' | 'stop'> & { keys: Keys; pool: Pool }): AbortSignal {
  let missed = false
  const followKey = async (): Promise<void> => {
    const found = await followRotation(config, keys, pool)
    if (found === 'rotated') log.warn({ fingerprint: keys.fingerprint }, 'the master key was rotated: this node uses the new one')
    if (found === 'missing' && !missed) log.error('the master key was rotated, and this node was not given the new one')
    missed = found === 'missing'
  }
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
    // An unreachable database is logged elsewhere.
    if (!(err instanceof StoreUnavailable)) log.warn({ chore, err }, 'a chore failed and will be tried again')
  })
  return outdated.signal
}

/** The supervisor may be gone: the 'disconnect' event reports that. */
function tellParent(message: object): void {
  process.send?.(message, undefined, undefined, () => {})
}
