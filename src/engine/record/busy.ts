import { setTimeout as sleep } from 'node:timers/promises'
import { lockedOut } from '../../store/postgres.js'
import { engineTiming } from '../timing.js'

/** Nothing was written, because another transaction holds a row that is needed. */
export type Busy = 'busy'

/** Most rows are free again within milliseconds; those of a frozen node once the server has ended its transaction. */
const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 1_000

/** Repeats a write with growing waits while other transactions hold its rows. `giveUpAfterMs`: how long. */
export async function repeatWhileBusy<T>(
  write: () => Promise<T | Busy>,
  giveUpAfterMs: number = engineTiming.unavailableMs,
): Promise<T> {
  const giveUpAt = performance.now() + giveUpAfterMs
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs)) {
    const result = await write()
    if (result !== 'busy') return result as T
    if (performance.now() >= giveUpAt) throw lockedOut()
    await sleep(waitMs)
  }
}
