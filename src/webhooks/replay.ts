import { Refusal, StoreUnavailable } from '../domain/errors.js'
import { type Scope, scopeKey } from '../domain/scope.js'
import { KeyedSemaphore } from '../runtime/semaphore.js'
import { type Pool, transaction } from '../store/postgres.js'
import { type ReplayCursor, type ReplaySpan, replayBatch } from '../store/webhook/messages.js'
import { requireActive } from './endpoints.js'

export type TakeReplayTurn = <T>(scope: Scope, work: () => Promise<T>) => Promise<T>

const BATCH = 2_000
/** The next replays wait a little for their turn: most of them take a moment. */
const WAITING = { maxWaiting: 32, maxWaitMs: 2_000 }

/** Replays of time spans: one at a time per account, mode and node, because each of them writes for as long as there are messages. */
export function replayTurns(): TakeReplayTurn {
  const refusal = (): Refusal => new Refusal('replayInProgress', [], { retryAfter: 5 })
  const turns = new KeyedSemaphore({ permits: 1, ...WAITING, refusal })
  return (scope, work) => turns.run(scopeKey(scope), work)
}

/**
 * Queues all messages of a time span again, in batches that stay below the statement timeout, until the client is gone. Returns their
 * number.
 */
export async function replaySpan(pool: Pool, scope: Scope, id: string, span: ReplaySpan, isGone = () => false): Promise<number> {
  await requireActive(pool, scope, id)
  let total = 0
  let after: ReplayCursor = { at: '-infinity', position: 0 }
  while (!isGone()) {
    const from = after
    const batch = await transaction(pool, db => replayBatch(db, id, span, from, BATCH)).catch(error => {
      // Earlier batches are written: the answer must not promise that nothing was.
      throw total > 0 && error instanceof StoreUnavailable ? new StoreUnavailable(error.cause, { maybeCommitted: true }) : error
    })
    if (batch === null) break
    total += batch.count
    after = batch
  }
  return total
}
