/** What leaves a queue stays in its index for a while: after so many claimed, the front is looked for again. */
const CLAIMED_BETWEEN = 500
const WHOLE_EVERY_MS = 30_000

/**
 * Remembers where a queue begins, so that claims begin there too. What was claimed stays in the index of the queue until the last
 * transaction that could still see it there has ended. Beside a dump of an hour, a claim from the beginning reads an hour of it. Some
 * entries come in before the front all the same: those of a hold that was lifted, or of a slow transaction. So every now and then, and
 * whenever it is asked for, the front is looked for from the beginning.
 */
export class QueueFront {
  readonly #find: (from: Date | null) => Promise<Date>
  readonly #asked: () => number
  readonly #now: () => number
  #front: Date | null = null
  #wholeAt = Number.NEGATIVE_INFINITY
  #claimed = 0
  #answered: number

  /** `find`: looks for the front from a time on; null: from the beginning. `asked`: how often a look from the beginning was asked for. */
  constructor(
    find: (from: Date | null) => Promise<Date>,
    asked: () => number = () => 0,
    now: () => number = () => performance.now(),
  ) {
    this.#find = find
    this.#asked = asked
    this.#now = now
    this.#answered = asked()
  }

  /** `claim` gets the time from which on it has to look. */
  async claim<T>(claim: (from: Date) => Promise<T[]>): Promise<T[]> {
    const claims = await claim(await this.#from())
    this.#claimed += claims.length
    return claims
  }

  async #from(): Promise<Date> {
    const began = this.#now()
    const asked = this.#asked()
    const isWhole = began - this.#wholeAt >= WHOLE_EVERY_MS || asked !== this.#answered
    if (!isWhole && this.#front !== null && this.#claimed < CLAIMED_BETWEEN) return this.#front
    const front = await this.#find(isWhole ? null : this.#front)
    this.#front = front
    this.#claimed = 0
    if (isWhole) {
      this.#wholeAt = began
      this.#answered = asked
    }
    return front
  }
}
