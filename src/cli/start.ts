import { Command, Option } from 'commander'
import { readConfig } from '../app/config.js'
import { openDatabase, openRolePool, prepareDatabase } from '../app/database.js'
import { openDemo } from '../app/demo.js'
import { loadKeys } from '../app/keys.js'
import { openLog } from '../app/log.js'
import { supervise } from '../app/supervisor.js'
import { OperatorError } from '../domain/errors.js'
import { print } from './output.js'

type Role = 'api' | 'worker' | 'all'

export function startCommand(): Command {
  return new Command('start')
    .description('inicia o serviço')
    .addOption(new Option('--role <papel>', 'papel deste processo').choices(['api', 'worker', 'all']).default('all'))
    .option('--simulator', 'liga o simulador de operadoras')
    .option('--no-simulator', 'desliga o simulador de operadoras')
    .option('--json', 'mostra o que iniciou em JSON, numa linha')
    .action(async ({ role, simulator, json = false }: { role: Role; simulator?: boolean; json?: boolean }) => {
      const env = { ...process.env, ...(simulator === undefined ? {} : { SIMULATOR: simulator ? 'on' : 'off' }) }
      if (role === 'all') await supervise(env, json)
      else await runRole(role, env, json)
    })
}

/** One role in this process: a node of several on one database, or a child of the supervisor. */
async function runRole(role: 'api' | 'worker', env: NodeJS.ProcessEnv, json: boolean): Promise<void> {
  const config = readConfig(env)
  const log = openLog(config.logLevel, role)
  const keys = loadKeys(config)
  const database = await openDatabase(config, true)
  const pool = openRolePool(config, database.url, log)
  await prepareDatabase(pool, keys)
  // A supervisor has done this already.
  if (process.send === undefined) {
    for (const warning of config.warnings) log.warn(warning)
    if (config.hasCarriers) await openDemo(pool, keys, config)
  }
  // Each role loads what it runs and nothing else.
  const api = role === 'api' ? await (await import('../app/api.js')).buildApi({ config, keys, pool, log }) : null
  const startWorker = async () =>
    (await import('../app/worker.js')).startWorker({ config, keys, pool, databaseUrl: database.url, log })
  const service = api ?? (await startWorker())

  let stopping = false
  const stop = async (): Promise<void> => {
    if (stopping) return
    stopping = true
    log.info('stopping: finishing what is in flight')
    await service.close()
    await pool.end()
    await database.close()
    log.info('stopped')
    process.exit(0)
  }
  const stopOrReport = (): void => {
    stop().catch(err => {
      log.fatal({ err }, 'stopping failed')
      process.exit(1)
    })
  }
  process.on('SIGTERM', stopOrReport)
  process.on('SIGINT', stopOrReport)
  // The supervisor is gone: nobody else will tell us to stop.
  process.on('disconnect', stopOrReport)

  try {
    const address = api === null ? null : await api.listen()
    log.info({ address }, 'ready')
    process.send?.({ ready: address })
    if (json) print(JSON.stringify({ role, api: address }))
  } catch (error) {
    if (process.send !== undefined && error instanceof OperatorError) process.send({ failed: error.message })
    throw error
  }
}
