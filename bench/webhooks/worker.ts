import { documentUrls } from '../../src/app/channels.js'
import { readConfig } from '../../src/app/config.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { openLog } from '../../src/app/log.js'
import { webhookFormat } from '../../src/app/webhook-rules.js'
import { startDeliverer } from '../../src/app/worker/webhooks.js'
import { collectGarbageInOneThread } from '../../src/app/worker/worker.js'
import { loadContracts } from '../../src/channels/registry.js'
import { engineTiming } from '../../src/engine/timing.js'
import { openPool } from '../../src/store/postgres.js'
import { stopWithParent } from '../support/stop-with-parent.js'

/** The worker's delivery of webhooks as it ships, without the lanes to carriers. */
collectGarbageInOneThread()
const config = readConfig(process.env)
const log = openLog(config.logLevel, 'worker')
const pool = openPool({ url: config.databaseUrl!, size: config.databasePool, onError: err => log.warn({ err }, 'idle') })
const keys = loadKeys(config, false)
const deliverer = startDeliverer({
  config,
  format: webhookFormat(
    await loadContracts(),
    documentUrls(() => config.publicUrl, keys),
  ),
  keys,
  pool,
  clock: Date.now,
  log,
  leaseMs: engineTiming.leaseMs,
  onError: (err, what) => log.warn({ err }, what),
})

stopWithParent(async () => {
  await deliverer.stop()
  await pool.end()
})
process.send?.({ ready: '' })
