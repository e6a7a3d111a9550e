import { BoundedCache } from '../runtime/bounded-cache.js'

/** Locks that this process knows of, by its own clock, so that whoever is locked costs no query. */
const MAX_REMEMBERED = 10_000

export class KnownLocks {
  readonly #until = new BoundedCache<string, number>({ maxEntries: MAX_REMEMBERED })

  /** How long a key is still locked; 0 when it is not, as far as is known here. */
  left(key: string): number {
    return Math.max(0, (this.#until.get(key) ?? 0) - performance.now())
  }

  remember(key: string, lockedMs: number): void {
    if (lockedMs <= 0) return
    this.#until.set(key, performance.now() + lockedMs, lockedMs)
  }
}
