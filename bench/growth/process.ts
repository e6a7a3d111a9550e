import { once } from 'node:events'
import { openPool } from '../../src/store/postgres.js'
import { type GrowthTask, measureStore } from './work.js'

/** A process of the benchmark of growth: several of them work on one store at the same time. */
const asked = once(process, 'message')
process.send!('ready')
const [task] = (await asked) as [GrowthTask]
// One connection: a statement is planned once, and then measured.
const pool = openPool({ url: task.url, size: 1, onError: () => {} })
process.send!(await measureStore(pool, task))
await pool.end()
process.disconnect()
