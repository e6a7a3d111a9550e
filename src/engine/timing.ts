/** Every time span that the engine waits for. Tests pass shorter ones; these are the product's. */
export interface EngineTiming {
  /**
   * How long a claim holds a delivery unless it is renewed: three times the longest that a carrier may take that is not safe to
   * repeat, and short enough that the work of a dead worker is taken up within a minute.
   */
  leaseMs: number
  /** Between two looks at the queue, at due steps, at failovers and at unknown outcomes that found nothing to do. */
  pollMs: number
  /** Between two looks for expired leases. With the lease and the next poll, less than a minute. */
  reapMs: number
  /** Between two looks at a channel of which no carrier can take work. */
  closedMs: number
  /** Until a delivery that only a busy, or only an absent, carrier can take is looked at again. */
  busyMs: number
  absentMs: number
  /** How long a send under way may take once the worker stops. */
  stopMs: number
  /** The first and the longest pause of a carrier that fails again and again. */
  firstPauseMs: number
  longestPauseMs: number
  /** How long a statement may still commit after its answer was lost: the server ends it after 10 s, the network may delay it. */
  latestCommitMs: number
  /** How long facts are held while the database is away; then the lease decides. */
  unavailableMs: number
  /** Between two attempts to write while the database is away. */
  rewriteMs: number
  /** How long no other worker takes up an unknown outcome that one is looking at: longer than a carrier may take to answer. */
  holdMs: number
  /** Before anything is done about an unknown outcome of a carrier that is not configured here. */
  orphanMs: number
  /** Between the looks at a report that came before its message, an hour in all: its message was being written at the same moment. */
  probeMs: readonly number[]
}

export const engineTiming: EngineTiming = {
  leaseMs: 54_000,
  pollMs: 1_000,
  reapMs: 3_000,
  closedMs: 100,
  busyMs: 1_000,
  absentMs: 30_000,
  stopMs: 18_000,
  firstPauseMs: 1_000,
  longestPauseMs: 30_000,
  latestCommitMs: 30_000,
  unavailableMs: 60_000,
  rewriteMs: 200,
  holdMs: 2 * 60_000,
  orphanMs: 10 * 60_000,
  probeMs: [10_000, 30_000, 90_000, 270_000, 810_000, 2_430_000],
}
