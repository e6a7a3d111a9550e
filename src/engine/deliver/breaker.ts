import { type EngineTiming, engineTiming } from '../timing.js'

const FAILURES_TO_OPEN = 10

type PauseTiming = Pick<EngineTiming, 'firstPauseMs' | 'longestPauseMs'>

/**
 * A circuit breaker for one carrier: a carrier that fails again and again gets nothing for a while, then one delivery as a
 * probe, which shows whether the carrier works again. Not a library's, because the lane must know the state before it claims.
 */
export class Breaker {
  readonly #timing: PauseTiming
  readonly #now: () => number
  #failures = 0
  #pauseMs: number
  #pausedUntil = 0
  /** Raised by every pause. A send remembers the period in which it began. */
  period = 0

  constructor(timing: PauseTiming = engineTiming, now = () => performance.now()) {
    this.#timing = timing
    this.#now = now
    this.#pauseMs = timing.firstPauseMs
  }

  allows(): boolean {
    return this.#now() >= this.#pausedUntil
  }

  /** Whether the next delivery is a probe, which shows whether the carrier works again. */
  get probing(): boolean {
    return this.#failures >= FAILURES_TO_OPEN
  }

  succeeded(): void {
    this.#failures = 0
    this.#pauseMs = this.#timing.firstPauseMs
    this.#pausedUntil = 0
  }

  /** Failures of sends that began before the pause do not count: otherwise forty failures of one short outage would make a long pause. */
  failed(period: number): void {
    if (period !== this.period) return
    this.#failures++
    if (this.#failures < FAILURES_TO_OPEN) return
    this.period++
    this.#pausedUntil = this.#now() + this.#pauseMs
    this.#pauseMs = Math.min(this.#timing.longestPauseMs, this.#pauseMs * 2)
  }
}
