import { setTimeout as sleep } from 'node:timers/promises'
import type { Change, ChangeOutcome, Recorder } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import { Refusal, StoreUnavailable } from '../../domain/errors.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import type { Wake } from '../../runtime/wake.js'
import { isRowFault, isTimeout, type Pool } from '../../store/postgres.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import { recordChanges } from './record.js'

/** Records changes in groups: the facts of many deliveries share a transaction. */
export function createRecorder(
  pool: Pool,
  clock: Clock,
  wake: Pick<Wake, 'notify'>,
  webhooks: Pick<Wake, 'notify'> = wake,
  timing: Pick<EngineTiming, 'unavailableMs' | 'rewriteMs'> = engineTiming,
): Recorder {
  const groups = new GroupCommit<Change, ChangeOutcome>({
    write: async changes => {
      const { outcomes, released, announced } = await retryWhileUnavailable(() => recordChanges(pool, clock, changes), timing)
      if (released) wake.notify()
      if (announced) webhooks.notify()
      return outcomes
    },
    // A group that takes too long is halved: the many webhooks of one account must not hold up everybody's facts.
    isItemFault: error => isRowFault(error) || isTimeout(error),
    maxItems: 256,
    // One after the other: two at a time are half as large each and take the database a quarter more (bench/delivery.ts).
    parallel: 1,
    maxWaiting: 100_000,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
  })
  return { record: change => groups.submit(change) }
}

/**
 * Repeats a write while the database is unreachable. Only for writes that are harmless to repeat. A write that takes too long is
 * repeated only where that is asked for: the caller may rather divide it.
 */
export async function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  { unavailableMs, rewriteMs }: Pick<EngineTiming, 'unavailableMs' | 'rewriteMs'> = engineTiming,
  alsoTimeouts = false,
): Promise<T> {
  const giveUpAt = performance.now() + unavailableMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isRepeatable = error instanceof StoreUnavailable && (alsoTimeouts || !isTimeout(error))
      if (!isRepeatable || performance.now() > giveUpAt) throw error
      await sleep(rewriteMs)
    }
  }
}
