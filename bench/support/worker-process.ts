import { readConfig } from '../../src/app/config.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { openLog } from '../../src/app/log.js'
import { collectGarbageInOneThread, startWorker, yieldToAnswers } from '../../src/app/worker/worker.js'
import { openPool } from '../../src/store/postgres.js'
import { countQueries } from './query-count.js'
import { stopWithParent } from './stop-with-parent.js'

/** The worker under test, a process of its own: as it ships, but that every domain has an exchanger, without a name server. */
const config = readConfig(process.env)
const log = openLog(config.logLevel, 'worker')
const pool = openPool({ url: config.databaseUrl!, size: config.databasePool, onError: err => log.warn({ err }, 'idle') })
countQueries(pool)
yieldToAnswers()
collectGarbageInOneThread()
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

stopWithParent(async () => {
  await worker.close()
  await pool.end()
})

process.send?.({ ready: null })
