import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Periodic work. Each chore is safe to run twice and on several nodes at once. */
export interface Chore {
  name: string
  everyMs: number
  /** What one node does is done for all: another one that did it too would find nothing to do, or say the same again. */
  oneNode?: true
  /**
   * A long chore ends early when the signal fires. One that may take longer than its period calls `keepTurn` as it goes on, so that no other
   * node begins it as well.
   */
  run(signal?: AbortSignal, keepTurn?: () => Promise<void>): Promise<unknown>
}

/** Runs each chore at once and then periodically, until the signal fires. A chore that fails is reported and runs again. */
export async function runChores(
  chores: readonly Chore[],
  signal: AbortSignal,
  onError: (name: string, error: unknown) => void,
): Promise<void> {
  // Every chore listens to the signal while it sleeps; Node would warn of a leak.
  setMaxListeners(0, signal)
  await Promise.all(
    chores.map(async chore => {
      while (!signal.aborted) {
        await chore.run(signal).catch(error => onError(chore.name, error))
        await sleep(chore.everyMs, undefined, { signal }).catch(() => {})
      }
    }),
  )
}
