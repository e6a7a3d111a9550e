/** The time spans that the engine waits for. Settle times and retry delays are in app/worker/lanes.ts. Tests pass shorter ones. */
export const engineTiming = {
  /**
   * How long a claim holds a delivery unless it is renewed: three times the longest that a carrier may take that is not safe to
   * repeat, and short enough that the work of a dead worker is taken up within a minute.
   */
  leaseMs: 54_000,
  /** Between two looks at the queue, at due steps, at failovers and at unknown outcomes that found nothing to do. */
  pollMs: 1_000,
  /** Between two looks for expired leases. With the lease and the next poll, less than a minute. */
  reapMs: 3_000,
  /** Between two looks at a channel of which no carrier can take work. */
  closedMs: 100,
  /** Until a delivery that only a busy, or only an absent, carrier can take is looked at again. */
  busyMs: 1_000,
  absentMs: 30_000,
  /** How long a send under way may take once the worker stops. */
  stopMs: 18_000,
  /** The first and the longest pause of a carrier that fails again and again. */
  firstPauseMs: 1_000,
  longestPauseMs: 30_000,
  /** How long a statement may still commit after its answer was lost: the server ends it after 10 s, the network may delay it. */
  latestCommitMs: 30_000,
  /** How long facts are held while the database is unreachable; then the lease decides. */
  unavailableMs: 60_000,
  /** Between two attempts to write while the database is unreachable. */
  rewriteMs: 200,
  /** How long no other worker takes up an unknown outcome that one is looking at: longer than a carrier may take to answer. */
  holdMs: 2 * 60_000,
  /** Before anything is done about an unknown outcome of a carrier that is not configured here. */
  orphanMs: 10 * 60_000,
  /** Between the looks at a report that came before its message, an hour in all: its message was being written at the same moment. */
  probeMs: [10_000, 30_000, 90_000, 270_000, 810_000, 2_430_000] as readonly number[],
}

export type EngineTiming = typeof engineTiming
