import { MINUTE_MS } from '../domain/units.js'

/** The time spans that the engine waits for. Settle times and retry delays are in app/worker/lanes.ts. Tests pass shorter ones. */
export const engineTiming = {
  /**
   * How long a claim holds a delivery unless it is renewed: three times the longest that a carrier may take that is not safe to
   * repeat, and short enough that the work of a dead worker is taken up within a minute.
   */
  leaseMs: 54_000,
  /** Between two polls of the queue, of due steps, of failovers and of unknown outcomes when there was nothing to do. */
  pollMs: 1_000,
  /** Between two searches for expired leases. With the lease and the next poll, less than a minute. */
  reapMs: 3_000,
  /** Between two checks of a channel with all carriers closed. */
  closedMs: 100,
  /** Before a delivery is claimed again that only a busy (busyMs) or an absent (absentMs) carrier can take, or that needs files that are away (absentMs). */
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
  unavailableMs: MINUTE_MS,
  /** Between two attempts to write while the database is unreachable. */
  rewriteMs: 200,
  /** How long no other worker takes up an unknown outcome that one is resolving: longer than a carrier may take to answer. */
  holdMs: 2 * MINUTE_MS,
  /** Before anything is done about an unknown outcome of a carrier that is not configured here. */
  orphanMs: 10 * MINUTE_MS,
  /** The delays between attempts to match a report that came before its message was committed: about an hour in total. */
  probeMs: [10_000, 30_000, 90_000, 270_000, 810_000, 2_430_000] as readonly number[],
}

export type EngineTiming = typeof engineTiming
