import { readConfig } from '../src/app/config.js'
import { loadKeys } from '../src/app/database/keys.js'
import { openLog } from '../src/app/log.js'
import { startWorker, yieldToAnswers } from '../src/app/worker/worker.js'
import { openPool } from '../src/store/postgres.js'
import { countQueries } from './query-count.js'

/** The worker under test, a process of its own: as it ships, but that every domain has an exchanger, without a name server. */
const config = readConfig(process.env)
const log = openLog(config.logLevel, 'worker')
const pool = openPool({ url: config.databaseUrl!, size: config.databasePool, onError: err => log.warn({ err }, 'idle') })
countQueries(pool)
yieldToAnswers()
const worker = await startWorker({
  config,
  keys: loadKeys(config, false),
  pool,
  databaseUrl: config.databaseUrl!,
  log,
  channelOptions: {
    email: {
      resolver: {
        exchangers: async () => ({ status: 'ok', records: [{ priority: 10, exchange: 'mx.example.com' }] }),
        addresses: async () => ({ status: 'ok', records: ['127.0.0.1'] }),
      },
    },
  },
})

let stopping = false
async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await worker.close()
  await pool.end()
  process.exit(0)
}
// A Ctrl-C reaches the whole group of the terminal; the benchmark tells us when to stop, also by ending.
process.on('SIGINT', () => {})
process.on('SIGTERM', stop)
process.on('disconnect', stop)

process.send?.({ ready: null })
