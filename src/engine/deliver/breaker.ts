/**
 * A carrier that fails again and again is left alone for a while, then tried with a single delivery. Ours and not a library's:
 * we must know the answer before we claim, not around the call.
 */
const FAILURES_TO_OPEN = 10
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

export class Breaker {
  readonly #now: () => number
  #failures = 0
  #pauseMs = FIRST_PAUSE_MS
  #restingUntil = 0
  #period = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether a delivery may be tried now. */
  allows(): boolean {
    return this.#now() >= this.#restingUntil
  }

  /** Whether the next delivery is the one that finds out. */
  get probing(): boolean {
    return this.#failures >= FAILURES_TO_OPEN
  }

  /** To be remembered when a try starts. */
  get period(): number {
    return this.#period
  }

  succeeded(): void {
    this.#failures = 0
    this.#pauseMs = FIRST_PAUSE_MS
    this.#restingUntil = 0
  }

  /** What was on its way when a pause began tells nothing new: forty failures of one blip are no reason for a pause of forty. */
  failed(period: number): void {
    if (period !== this.#period) return
    this.#failures++
    if (this.#failures < FAILURES_TO_OPEN) return
    this.#period++
    this.#restingUntil = this.#now() + this.#pauseMs
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
  }
}
