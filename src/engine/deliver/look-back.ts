/** Longer than a transaction that makes a delivery due takes to commit, in any but the worst case: a whole look finds those. */
const MARGIN_MS = 30_000
const WHOLE_EVERY_MS = 30_000

/**
 * How far back the claims of a lane look. A delivery that was claimed stays in the index of the queue until the last transaction that
 * could still see it there has ended. Beside a dump of an hour, a claim that looks at everything reads an hour of them. So once a claim
 * has found all that was due, the next ones look back to that moment. Some deliveries were due before it all the same: those of a hold
 * that was lifted, of a claim that was undone, of a slow transaction. Every now and then, and whenever it is asked for, a claim looks at
 * everything.
 */
export class LookBack {
  readonly #now: () => number
  readonly #asked: () => number
  #foundAllAt: number | null = null
  #wholeAt = Number.NEGATIVE_INFINITY
  #answered: number

  /** `asked`: how often a look at everything was asked for. */
  constructor(asked: () => number, now: () => number = () => performance.now()) {
    this.#asked = asked
    this.#now = now
    this.#answered = asked()
  }

  /** Looks once. `look` gets how far back in milliseconds, null for everything, and says whether it found all. */
  async look<T>(look: (withinMs: number | null) => Promise<{ found: T; isAll: boolean }>): Promise<T> {
    const began = this.#now()
    const asked = this.#asked()
    const isWhole = this.#foundAllAt === null || began - this.#wholeAt >= WHOLE_EVERY_MS || asked !== this.#answered
    const { found, isAll } = await look(isWhole ? null : began - this.#foundAllAt! + MARGIN_MS)
    if (isAll) this.#foundAllAt = began
    if (isAll && isWhole) {
      this.#wholeAt = began
      this.#answered = asked
    }
    return found
  }
}
