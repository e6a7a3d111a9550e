import { once } from 'node:events'
import { openPool } from '../../src/store/postgres.js'
import { type GrowthTask, type KindOfWork, openWork, timesOf } from './work.js'

export interface Turn {
  kind: KindOfWork
  forMs: number
}

/** A process of the benchmark of growth, with one store: several of them work on it at the same time, one kind of work in each turn. */
const asked = once(process, 'message')
process.send!('ready')
const [task] = (await asked) as [GrowthTask]
// One connection: a statement is planned once, and then measured.
const pool = openPool({ url: task.url, size: 1, onError: () => {} })
const work = await openWork(pool, task)
process.on('message', async ({ kind, forMs }: Turn) => process.send!(await timesOf(work[kind], forMs)))
process.once('disconnect', () => void pool.end())
process.send!('ready')
