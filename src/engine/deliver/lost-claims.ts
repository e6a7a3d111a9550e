import { randomUUID } from 'node:crypto'

/** How long after its caller lost sight of it a statement may still commit: the server ends it after 10 s, the network may hold it up. */
const LATEST_COMMIT_MS = 30_000

/**
 * Claims whose answer did not come: the database may have committed them all the same. Each has a name of its own, under which
 * all that it took is found again, and nothing of what other claims took: none of it has left, so it goes back to the queue.
 */
export class LostClaims {
  readonly #putBack: (owners: readonly string[]) => Promise<void>
  /** When their answers were given up, on the clock of performance.now(). */
  readonly #lost = new Map<string, number>()

  constructor(putBack: (owners: readonly string[]) => Promise<void>) {
    this.#putBack = putBack
  }

  /** Takes something under a new name. */
  async take<T>(claim: (owner: string) => Promise<T>): Promise<T> {
    const owner = randomUUID()
    try {
      return await claim(owner)
    } catch (error) {
      this.#lost.set(owner, performance.now())
      throw error
    }
  }

  /** Fails while the database is away. Looks again later: what was under way may commit after the look. */
  async putBack(): Promise<void> {
    if (this.#lost.size === 0) return
    const asked = performance.now()
    await this.#putBack([...this.#lost.keys()])
    for (const [owner, lostAt] of this.#lost) if (asked - lostAt > LATEST_COMMIT_MS) this.#lost.delete(owner)
  }
}
