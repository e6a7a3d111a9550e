import { setTimeout as sleep } from 'node:timers/promises'
import { namesCarrier } from '../../channels/carrier-name.js'
import type { Clock } from '../../domain/clock.js'
import type { Recorder } from '../../domain/delivery/change.js'
import { type Queue, queueOf } from '../../domain/queue.js'
import type { Wakes } from '../../runtime/wake.js'
import { renewLeases } from '../../store/delivery/claims.js'
import { readLaneHolds } from '../../store/delivery/holds.js'
import type { IdMonths } from '../../store/months.js'
import type { Pool } from '../../store/postgres.js'
import { promoteDueSteps } from '../record/record.js'
import { createRecorder } from '../record/recorder.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import { resolveUnknown } from '../unknown/resolver.js'
import { reapLeases } from '../upkeep/reaper.js'
import type { Lane } from './lane.js'
import type { LaneOptions } from './lane-options.js'

export interface LaneWorkerParts {
  pool: Pool
  /** Connections for leases alone: they are renewed and reaped even while all others wait. Without it, those of `pool`. */
  leases?: Pool
  clock: Clock
  /** Notified of the queues that have something to send. */
  wakes: Wakes<Queue>
  recorder: Recorder
  /** The months of the notifications that may have work; null, and without it: all. */
  openMonths?: () => IdMonths | null
  /** One list per channel and mode, the preferred carrier first. */
  lanes: Lane<unknown>[][]
  timing?: Partial<EngineTiming>
  onError(error: unknown, what: string): void
  /** Called with every attempt that a dead worker left behind. */
  onFailed?: LaneOptions<unknown>['onFailed']
}

/** Starts the loops of one process: lanes that send, leases that are renewed, and the work that dead workers left behind. */
export function startLanes({
  pool,
  leases = pool,
  clock,
  wakes,
  recorder,
  openMonths = () => null,
  lanes,
  onError,
  onFailed,
  ...options
}: LaneWorkerParts): {
  stop(): Promise<void>
} {
  const timing: EngineTiming = { ...engineTiming, ...options.timing }
  const stop = new AbortController()
  const all = lanes.flat()
  for (const group of lanes) for (const lane of group) lane.join(group)
  const every = async (ms: number, what: string, work: () => Promise<unknown>): Promise<void> => {
    while (!stop.signal.aborted) {
      await work().catch(error => onError(error, what))
      await sleep(ms, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const { pollMs, reapMs } = timing
  const { record } = recorder
  // It looks again soon, so it waits for nothing: one delivery that a frozen node holds must not delay all others.
  const reaped = createRecorder(leases, clock, wakes, undefined, { ...timing, unavailableMs: 0 })
  const reaper = { pool: leases, clock, record: reaped.record, openMonths, ...(onFailed && { onFailed }) }
  const loops = [
    ...lanes.map(group => runGroup(group, { wakes, onError }, timing, stop.signal)),
    ...lanes.filter(group => group.length > 1).map(group => every(pollMs, 'claim of failovers', () => failOver(group))),
    every(pollMs, 'holds', () => noteHolds(pool, all)),
    every(pollMs, 'claims without an answer', () => Promise.all(all.map(lane => lane.putBackLost()))),
    every(reapMs, 'expired leases', () => reapLeases(reaper, all, timing.orphanMs)),
    every(pollMs, 'waiting steps', () => promoteDueSteps(pool, clock, wakes, stop.signal, { months: openMonths() })),
    resolveUnknown({ pool, clock, record, openMonths, timing, onError }, all, stop.signal),
  ]
  const renewal = startRenewal(leases, all, timing.leaseMs, onError)
  return {
    async stop() {
      stop.abort()
      for (const lane of all) lane.halt()
      wakes.notify()
      await Promise.all(loops)
      await Promise.all(all.map(lane => lane.finish()))
      clearInterval(renewal)
    },
  }
}

async function noteHolds(pool: Pool, lanes: readonly Lane<unknown>[]): Promise<void> {
  const holds = await readLaneHolds(pool)
  for (const lane of lanes)
    lane.isHeld = holds.some(
      ({ channel, carrier }) =>
        (channel ?? lane.channel) === lane.channel && (carrier === null || namesCarrier(carrier, lane.identity)),
    )
}

/** Leases are renewed until the last delivery is done, also while the worker stops. */
function startRenewal(
  pool: Pool,
  lanes: readonly Lane<unknown>[],
  leaseMs: number,
  onError: LaneWorkerParts['onError'],
): NodeJS.Timeout {
  return setInterval(() => {
    for (const lane of lanes) {
      const { leases } = lane
      if (leases.length === 0) continue
      const until = performance.now() + leaseMs
      renewLeases(pool, leases, leaseMs)
        .then(kept => lane.renew(kept, until))
        .catch(error => onError(error, 'lease renewal'))
    }
  }, leaseMs / 6)
}

/** Serves one channel and mode with the first carrier that can take work. */
async function runGroup(
  group: Lane<unknown>[],
  { wakes, onError }: Pick<LaneWorkerParts, 'wakes' | 'onError'>,
  timing: EngineTiming,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const lane = group.find(candidate => candidate.open || candidate.isThrottledBriefly)
    if (lane === undefined || !lane.open) {
      await sleep(timing.closedMs)
      continue
    }
    if (!lane.hasRoom) {
      // At most for a poll: the carrier may stop answering while it is full, and then the next carrier must be looked at.
      const waited = new AbortController()
      await Promise.race([lane.roomAgain(), sleep(timing.pollMs, undefined, { signal: waited.signal }).catch(() => {})])
      waited.abort()
      continue
    }
    const wake = wakes.of(queueOf(lane))
    const seen = wake.notified
    const { tookFew } = await lane.work().catch(error => {
      onError(error, 'claim')
      return { tookFew: true }
    })
    // A claim that finds nothing costs as much as another. Where this one left places free, the queue is empty: a signal tells when it is not.
    if (tookFew) await wake.wait(timing.pollMs, seen, lane.batchRoomAgain())
  }
}

/** A delivery that one carrier failed to take goes to the others at once: the waits of the plan are for when all of them failed. */
async function failOver(group: readonly Lane<unknown>[]): Promise<void> {
  for (const lane of group) {
    while (lane.open && lane.hasRoom) {
      if ((await lane.failover()).count === 0) break
    }
  }
}
