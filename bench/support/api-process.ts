import { parseArgs } from 'node:util'
import { ACCEPT_LIMITS, acceptStore } from '../../src/app/accept-store.js'
import { buildApi } from '../../src/app/api/api.js'
import { readConfig } from '../../src/app/config.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { openLog } from '../../src/app/log.js'
import { newStatus } from '../../src/domain/delivery/status.js'
import type { FoundStatus } from '../../src/store/delivery/deliveries.js'
import { openPool } from '../../src/store/postgres.js'
import { countQueries } from './query-count.js'
import { stopWithParent } from './stop-with-parent.js'

/**
 * The server under test, a process of its own: the whole gateway as it ships, with a few things to turn. `--no-write` leaves
 * the database write out and nothing else; `--constant` answers every lookup with one record; `--group` and `--parallel`
 * change how acceptances share a transaction.
 */
const { values } = parseArgs({
  options: {
    'no-write': { type: 'boolean', default: false },
    constant: { type: 'boolean', default: false },
    group: { type: 'string', default: String(ACCEPT_LIMITS.maxGroup) },
    parallel: { type: 'string', default: String(ACCEPT_LIMITS.parallelGroups) },
  },
})
const CONSTANT: Omit<FoundStatus, 'notification'> = { ...newStatus('email', 'queued', new Date()), customId: null }
const config = readConfig(process.env)
const log = openLog(config.logLevel, 'api')
const pool = openPool({ url: config.databaseUrl!, size: config.databasePool, onError: err => log.warn({ err }, 'idle') })
countQueries(pool)
const store = acceptStore(pool)
const api = await buildApi({
  config,
  keys: loadKeys(config, false),
  pool,
  log,
  acceptLimits: { ...ACCEPT_LIMITS, maxGroup: Number(values.group), parallelGroups: Number(values.parallel) },
  ...(values.constant ? { findStatus: async question => ({ ...CONSTANT, notification: question.notification }) } : {}),
  store: values['no-write'] ? { ...store, insertAcceptances: async group => new Set(group.map(item => item.id)) } : store,
})

stopWithParent(async () => {
  await api.close()
  await pool.end()
})

process.send?.({ ready: await api.listen() })
