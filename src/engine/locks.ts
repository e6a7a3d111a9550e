/** Locks that this process knows of, by its own clock, so that whoever is locked costs no query. */
const MAX_REMEMBERED = 10_000

export class KnownLocks {
  readonly #until = new Map<string, number>()

  /** How long a key is still locked; 0 when it is not, as far as is known here. */
  left(key: string): number {
    const left = (this.#until.get(key) ?? 0) - performance.now()
    if (left <= 0) this.#until.delete(key)
    return Math.max(0, left)
  }

  remember(key: string, lockedMs: number): void {
    if (lockedMs <= 0) return
    if (this.#until.size >= MAX_REMEMBERED) this.#until.delete(this.#until.keys().next().value!)
    this.#until.set(key, performance.now() + lockedMs)
  }
}
