import type { Pool } from '../../src/store/postgres.js'
import { afterStatement } from '../support/database/statements.js'

/** Where a worker freezes: the statement, inside a transaction, after whose answer nothing more happens. */
export const freezePoints = { locked: 'read-locked', written: 'write-records' } as const

/**
 * Stops this process, once, when the answer to the `count`th such statement has come: its rows are locked and nothing is committed.
 * Whoever started the process is told, and lets it go on with SIGCONT. To be called before the first connection is opened.
 */
export function freezeAfter(pool: Pool, point: string, count: number): void {
  let left = count
  afterStatement(pool, freezePoints[point as keyof typeof freezePoints], async () => {
    if (--left !== 0) return
    await new Promise(resolve => process.send!({ frozen: true }, resolve))
    process.kill(process.pid, 'SIGSTOP')
  })
}
