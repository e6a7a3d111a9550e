import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../domain/clock.js'
import type { Change, ChangeOutcome, Recorder } from '../../domain/delivery/change.js'
import { Refusal, StoreUnavailable } from '../../domain/errors.js'
import type { QueueListener } from '../../domain/queue.js'
import { MIB } from '../../domain/units.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { isItemFault, isLocked, isTimeout, isTooSlow, type Pool } from '../../store/postgres.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import { type Busy, repeatWhileBusy } from './busy.js'
import { tryChanges } from './record.js'

/** The bytes of the contents in one group. */
const MAX_GROUP_BYTES = 8 * MIB

/**
 * Records changes in groups: the facts of many deliveries share a transaction. A fact about a notification that another transaction
 * holds is set aside and tried again in a later group, so it may be recorded after facts that came later.
 */
export function createRecorder(
  pool: Pool,
  clock: Clock,
  wake: QueueListener,
  webhooks: { notify(): void } = { notify() {} },
  timing: Pick<EngineTiming, 'unavailableMs' | 'rewriteMs'> = engineTiming,
): Recorder {
  const groups = new GroupCommit<Change, ChangeOutcome | Busy>({
    write: async changes => {
      const { outcomes, released, announced } = await retryWhileUnavailable(
        () => tryChanges(pool, clock, changes),
        timing,
        error => !isTooSlow(error),
      )
      if (released.size > 0) wake.notify(released)
      if (announced) webhooks.notify()
      return outcomes
    },
    // A group that takes too long is halved: the many webhooks of one account must not hold up everybody's facts.
    // An error that is not the database's is of one item, too: it must not take the facts of the others along.
    isItemFault: error => isItemFault(error) || !(error instanceof StoreUnavailable),
    maxItems: 256,
    // A statement of many large contents would take too much memory, here and in the database.
    weigh: change => (change.kind === 'attempt' ? (change.content?.bytes.length ?? 0) : 0),
    maxWeight: MAX_GROUP_BYTES,
    // One after the other: two at a time are half as large each and take the database a quarter more (bench/delivery/delivery.ts).
    parallel: 1,
    maxWaiting: 100_000,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
  })
  return { record: change => repeatWhileBusy(() => submitTo(groups, change), timing.unavailableMs) }
}

/** Submits an item to groups; where it alone met a lock, it is busy. */
export async function submitTo<Item, Result>(groups: GroupCommit<Item, Result | Busy>, item: Item): Promise<Result | Busy> {
  try {
    return await groups.submit(item)
  } catch (error) {
    if (isLocked(error)) return 'busy'
    throw error
  }
}

/**
 * Repeats a write while the database is unreachable. Only for writes that are harmless to repeat. At least once: a process that was
 * frozen for longer than it waits finds its connection gone, and the database back.
 */
export async function retryWhileUnavailable<T>(
  work: () => Promise<T>,
  { unavailableMs, rewriteMs }: Pick<EngineTiming, 'unavailableMs' | 'rewriteMs'> = engineTiming,
  isWorthRepeating: (error: unknown) => boolean = error => !isTimeout(error),
): Promise<T> {
  const giveUpAt = performance.now() + unavailableMs
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const isOver = tries > 1 && performance.now() > giveUpAt
      if (!(error instanceof StoreUnavailable) || !isWorthRepeating(error) || isOver) throw error
      await sleep(rewriteMs)
    }
  }
}
