import type { Clock } from '../../domain/clock.js'
import type { Wake } from '../../runtime/wake.js'
import type { Pool } from '../../store/postgres.js'
import { decideDueSteps } from './record.js'

const BATCH = 500

/** Decides on all steps whose wait is over, in batches that several nodes share. */
export async function promoteDueSteps(
  pool: Pool,
  clock: Clock,
  wake: Pick<Wake, 'notify'>,
  signal: AbortSignal,
  batch = BATCH,
): Promise<void> {
  for (let more = true; more && !signal.aborted; ) {
    const decided = await decideDueSteps(pool, clock, batch)
    if (decided.released) wake.notify()
    more = decided.more
  }
}
