import { type CallEnd, callEnds } from '../../store/carrier/totals.js'

/** The bounds of the histogram of calls, in seconds: from a relay in the same room to a telephone call. */
export const CALL_SECONDS: readonly number[] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

export interface CallCounts extends Record<CallEnd, number> {
  durations: number[]
  seconds: number
}

const nothing = (): CallCounts => ({
  ...(Object.fromEntries(callEnds.map(end => [end, 0])) as Record<CallEnd, number>),
  durations: Array<number>(CALL_SECONDS.length + 1).fill(0),
  seconds: 0,
})

/** Counts the calls to one carrier between two reports. */
export class CallMeter {
  #counts = nothing()

  count(end: CallEnd, ms: number): void {
    const seconds = ms / 1_000
    const place = CALL_SECONDS.findIndex(bound => seconds <= bound)
    this.#counts[end]++
    this.#counts.durations[place === -1 ? CALL_SECONDS.length : place]!++
    this.#counts.seconds += seconds
  }

  /** What was counted since the last time; null: nothing was. */
  take(): CallCounts | null {
    const taken = this.#counts
    if (callEnds.every(end => taken[end] === 0)) return null
    this.#counts = nothing()
    return taken
  }

  /** The report of what was taken failed: it is part of the next one. */
  giveBack(counts: CallCounts): void {
    for (const end of callEnds) this.#counts[end] += counts[end]
    counts.durations.forEach((count, place) => {
      this.#counts.durations[place]! += count
    })
    this.#counts.seconds += counts.seconds
  }
}
