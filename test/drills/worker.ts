import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../../src/app/config.js'
import { openRolePool, prepareDatabase } from '../../src/app/database/database.js'
import { MEMORY_FILE } from '../../src/app/database/database-memory.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { openLog } from '../../src/app/log.js'
import { startWorker, yieldToAnswers } from '../../src/app/worker/worker.js'
import { freezeAfter } from './freeze.js'

/** The worker as it ships, but for a shorter lease and, where asked, a death of its own, or a freeze, at a named point. */
const { values } = parseArgs({
  options: {
    lease: { type: 'string' },
    die: { type: 'string' },
    after: { type: 'string', default: '1' },
    freeze: { type: 'string' },
    'retry-for': { type: 'string', default: '5000' },
    yield: { type: 'boolean', default: false },
  },
})
const config = readConfig(process.env)
// Other drills run beside many tests, where a process that yields would hardly get the processor.
if (values.yield) yieldToAnswers()
const log = openLog(config.logLevel, 'worker')
const database = { url: config.databaseUrl!, ownerUrl: config.databaseUrl! }
const { keys } = await prepareDatabase(database, isNew => loadKeys(config, isNew))
const pool = openRolePool(config, database.url, log)
if (values.freeze !== undefined) freezeAfter(pool, values.freeze, Number(values.after))

// Hours between two tries of a webhook are half a second here.
const RETRY_MS = 500
const plan = { delaysMs: Array<number>(Math.ceil(Number(values['retry-for']) / RETRY_MS)).fill(RETRY_MS), laterMs: RETRY_MS }
let left = Number(values.after)
const die = (): never => {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('unreachable')
}
// The drill itself says when the wait for a report is over: see settleUntaken in drill.ts.
const SETTLE_MS = 3_600_000
const worker = await startWorker({
  config,
  keys,
  pool,
  databaseUrl: config.databaseUrl!,
  log,
  memoryFile: join(config.dataFolder, MEMORY_FILE),
  leaseMs: Number(values.lease),
  timing: { reapMs: 500, settleMs: SETTLE_MS },
  webhooks: { timing: { plan, maxPauseMs: 2_000, timeoutMs: 1_000 } },
  trace: point => {
    // "bytes": the message is on its way, the (slow) carrier has not answered.
    if (values.die === 'bytes' && point === 'sending' && --left === 0) setTimeout(die, 50)
    if (point === values.die && --left === 0) die()
  },
})

let stopping = false
const stop = (): void => {
  // Told twice where the drill itself is ended: by its signal, and by its silence.
  if (stopping) return
  stopping = true
  worker
    .close()
    .then(() => pool.end())
    .then(() => process.exit(0))
}
process.on('SIGTERM', stop)
process.on('disconnect', stop)
process.send?.({ ready: null })
