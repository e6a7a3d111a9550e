import { randomUUID } from 'node:crypto'

/**
 * Claims whose answer from the database did not come: they may have been committed anyway. Every claim has an id of its own,
 * so that exactly its deliveries are found again. None of them was sent, so they go back to the queue. `latestCommitMs`: how long
 * after its answer was lost a statement may still commit.
 */
export function createLostClaims(putBackClaims: (owners: readonly string[]) => Promise<void>, latestCommitMs: number) {
  /** When their answers were given up, on the clock of performance.now(). */
  const lost = new Map<string, number>()
  return {
    /** Claims under a new id. */
    async take<T>(claim: (owner: string) => Promise<T>): Promise<T> {
      const owner = randomUUID()
      try {
        return await claim(owner)
      } catch (error) {
        lost.set(owner, performance.now())
        throw error
      }
    },

    /** Fails while the database is unreachable. Looks several times, because a statement under way may commit after the first look. */
    async putBack(): Promise<void> {
      if (lost.size === 0) return
      const asked = performance.now()
      await putBackClaims([...lost.keys()])
      for (const [owner, lostAt] of lost) if (asked - lostAt > latestCommitMs) lost.delete(owner)
    },
  }
}
