/** The number of claimed entries after which the front is searched for again: they stay in the index of the queue for a while. */
const CLAIMED_BETWEEN = 500
const WHOLE_EVERY_MS = 30_000
/** After a search that failed, claims go on for this many times as long as it took. */
const PAUSE_AFTER_FAILURE = 3

export interface QueueFrontOptions {
  /** Searches for the front from a time on; null: from the beginning. */
  find(from: Date | null): Promise<Date>
  /** How many searches from the beginning were requested. */
  asked?(): number
  /** A search from the beginning failed, perhaps by a time-out. Claims continue from the known front. */
  onError(error: unknown): void
  /** Replaces the clock, in tests. */
  now?(): number
}

/**
 * Remembers where a queue begins, so that claims begin there too. What was claimed stays in the index of the queue until the last
 * transaction that could still see it there has ended. Beside a dump of an hour, a claim from the beginning reads an hour of it. Some
 * entries come in before the front all the same: those of a hold that was lifted, or of a slow transaction. So every now and then, and
 * whenever it is requested, the front is searched for from the beginning.
 */
export class QueueFront {
  readonly #options: QueueFrontOptions
  #front: Date | null = null
  #wholeAt = Number.NEGATIVE_INFINITY
  #notBefore = Number.NEGATIVE_INFINITY
  #claimed = 0
  #answered: number

  constructor(options: QueueFrontOptions) {
    this.#options = options
    this.#answered = this.#asked()
  }

  /** `claim` gets the time from which on it has to look. */
  async claim<T>(claim: (from: Date) => Promise<T[]>): Promise<T[]> {
    const claims = await claim(await this.#from())
    this.#claimed += claims.length
    return claims
  }

  async #from(): Promise<Date> {
    const { find, onError, now = () => performance.now() } = this.#options
    const began = now()
    const asked = this.#asked()
    const isDue = began - this.#wholeAt >= WHOLE_EVERY_MS || asked !== this.#answered
    if (this.#front === null || (isDue && began >= this.#notBefore)) {
      try {
        this.#front = await find(null)
        this.#claimed = 0
        this.#wholeAt = began
        this.#answered = asked
      } catch (error) {
        if (this.#front === null) throw error
        onError(error)
        const failed = now()
        this.#notBefore = failed + PAUSE_AFTER_FAILURE * (failed - began)
      }
    }
    if (this.#claimed >= CLAIMED_BETWEEN) {
      this.#front = await find(this.#front)
      this.#claimed = 0
    }
    return this.#front
  }

  #asked(): number {
    return this.#options.asked?.() ?? 0
  }
}
