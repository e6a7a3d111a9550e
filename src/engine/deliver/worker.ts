import { setTimeout as sleep } from 'node:timers/promises'
import { unknownClassOf } from '../../channels/unknown-class.js'
import type { Change, ChangeOutcome, Recorder } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import { Refusal, StoreUnavailable } from '../../domain/errors.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import type { Wake } from '../../runtime/wake.js'
import { type ExpiredLease, findExpiredLeases, renewLeases } from '../../store/claims.js'
import { isRowFault, isTimeout, type Pool } from '../../store/postgres.js'
import { promoteDueSteps } from '../record/due-steps.js'
import { recordChanges } from '../record/record.js'
import { INTERRUPTED } from '../unknown/resolve.js'
import { resolveUnknown, UNKNOWN_SETTLE_MS } from '../unknown/resolver.js'
import { carrierOf } from './carrier-of.js'
import type { Lane } from './lane.js'

/** What keeps notifications moving in one process: lanes that send, leases that are renewed, and what other workers left behind. */
/** Three times the longest that a carrier may take that is not safe to repeat, and short enough that a dead worker's work is taken up within a minute. */
export const LEASE_MS = 54_000
const POLL_MS = 1_000
/** With the lease and the next poll, what a dead worker held is taken up within a minute. */
const REAP_MS = 3_000
const BATCH = 500
/** A worker may have held more than a batch; the others' turn comes all the same. */
const REAP_PASSES = 20
/** How long facts are held while the database is away; then the lease decides. */
const RECORD_PATIENCE_MS = 60_000

/** Facts of many deliveries share a transaction. */
export function createRecorder(
  pool: Pool,
  clock: Clock,
  wake: Pick<Wake, 'notify'>,
  webhooks: Pick<Wake, 'notify'> = wake,
): Recorder {
  const groups = new GroupCommit<Change, ChangeOutcome>({
    write: async changes => {
      const { outcomes, released, announced } = await patiently(() => recordChanges(pool, clock, changes))
      if (released) wake.notify()
      if (announced) webhooks.notify()
      return outcomes
    },
    // A group that takes too long is halved: one account's many webhooks must not hold up everybody's facts.
    isItemFault: error => isRowFault(error) || isTimeout(error),
    weigh: () => 1,
    maxItems: 256,
    maxWeight: 256,
    // One after the other: two at a time are half as large each and take the database a quarter more (bench/delivery.ts).
    parallel: 1,
    maxWaiting: 100_000,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
  })
  return { record: change => groups.submit(change) }
}

/** For writes that are harmless to repeat: what is known already is nothing new. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + RECORD_PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || isTimeout(error) || performance.now() > giveUpAt) throw error
      await sleep(200)
    }
  }
}

export interface WorkerParts {
  pool: Pool
  clock: Clock
  wake: Wake
  recorder: Recorder
  /** One list per channel and mode, the preferred carrier first. */
  lanes: Lane<unknown>[][]
  leaseMs: number
  onError(error: unknown, what: string): void
}

export function startLanes({ pool, clock, wake, recorder, lanes, leaseMs, onError }: WorkerParts): { stop(): Promise<void> } {
  const stop = new AbortController()
  const all = lanes.flat()
  for (const group of lanes) for (const lane of group) lane.join(group)
  const every = async (ms: number, what: string, work: () => Promise<unknown>): Promise<void> => {
    while (!stop.signal.aborted) {
      await work().catch(error => onError(error, what))
      await sleep(ms, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const loops = [
    ...lanes.map(group => runGroup(group, wake, stop.signal, onError)),
    ...lanes.filter(group => group.length > 1).map(group => every(POLL_MS, 'claim of detours', () => standIn(group))),
    every(POLL_MS, 'claims without an answer', () => Promise.all(all.map(lane => lane.putBackLost()))),
    every(REAP_MS, 'expired leases', () => reap(pool, recorder, clock, all)),
    every(POLL_MS, 'waiting steps', () => promoteDueSteps(pool, clock, wake, stop.signal)),
    resolveUnknown({ pool, clock, record: change => recorder.record(change), onError }, all, stop.signal),
  ]
  // Renewed until the last delivery is done, also while stopping.
  const renewal = setInterval(() => {
    for (const lane of all) {
      const { held } = lane
      if (held.length === 0) continue
      const until = performance.now() + leaseMs
      renewLeases(pool, held, leaseMs)
        .then(kept => lane.renew(kept, until))
        .catch(error => onError(error, 'lease renewal'))
    }
  }, leaseMs / 6)
  return {
    async stop() {
      stop.abort()
      for (const lane of all) lane.halt()
      wake.notify()
      await Promise.all(loops)
      await Promise.all(all.map(lane => lane.finish()))
      clearInterval(renewal)
    },
  }
}

/** Serves one channel and mode with the first carrier that can take work. */
async function runGroup(
  group: Lane<unknown>[],
  wake: Wake,
  signal: AbortSignal,
  onError: (error: unknown, what: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    const lane = group.find(candidate => candidate.open || candidate.catchesBreath)
    if (lane === undefined || !lane.open) {
      await sleep(100)
      continue
    }
    if (!lane.hasRoom) {
      // A look from time to time: a carrier that keeps all that it was given without a word leaves room to the next one.
      const waited = new AbortController()
      await Promise.race([lane.roomAgain(), sleep(POLL_MS, undefined, { signal: waited.signal }).catch(() => {})])
      waited.abort()
      continue
    }
    const claimed = await lane.work().catch(error => {
      onError(error, 'claim')
      return 0
    })
    if (claimed === 0) await wake.wait(POLL_MS)
  }
}

/** What one carrier failed to take goes to the others at once: the plan's waits are for when all of them failed. */
async function standIn(group: readonly Lane<unknown>[]): Promise<void> {
  for (const lane of group) {
    while (lane.open && lane.hasRoom) {
      const claimed = await lane.standIn()
      if (claimed === 0 || claimed === 'later') break
    }
  }
}

/** Takes up what dead workers held. Whether it was sent nobody knows: the provider's class says what that means. */
async function reap(pool: Pool, recorder: Recorder, clock: Clock, lanes: readonly Lane<unknown>[]): Promise<void> {
  for (let pass = 0, count = BATCH; count === BATCH && pass < REAP_PASSES; pass++)
    count = await reapSome(pool, recorder, clock, lanes)
}

async function reapSome(pool: Pool, recorder: Recorder, clock: Clock, lanes: readonly Lane<unknown>[]): Promise<number> {
  const expired = await findExpiredLeases(pool, BATCH)
  await Promise.all(
    expired.map(lease => {
      const { notification, channel, provider, ordinal, attempt, owner, mode } = lease
      const lane = carrierOf(
        lanes.filter(lane => lane.mode === mode && lane.channel === channel),
        provider,
      )
      const safe = (lane?.whenUnknown ?? unknownClassOf(provider)) === 'safe'
      const { type, data, delayMs } = safe
        ? repeatInterrupted(lease, lane)
        : { type: 'uncertain' as const, data: { reason: INTERRUPTED }, delayMs: lane?.settleMs ?? UNKNOWN_SETTLE_MS }
      return recorder.record({
        kind: 'attempt',
        notification,
        fact: { channel, type, at: new Date(clock()), source: 'engine', data: { provider, attempt, ...data } },
        fence: { owner, attempt, ordinal },
        ...(delayMs === undefined ? {} : { delayMs }),
      })
    }),
  )
  return expired.length
}

/** At once the first time, then as planned: a message that takes its worker down with it must neither do so for ever nor in a row. */
function repeatInterrupted(lease: ExpiredLease, lane: Lane<unknown> | undefined) {
  const planned = lane === undefined ? UNKNOWN_SETTLE_MS : lane.delayAfter(lease)
  // One of the tries may have arrived: it did not fail, a person looks at it.
  if (planned === null) return { type: 'uncertain' as const, data: { reason: INTERRUPTED }, delayMs: 0 }
  const delayMs = lease.doubts > 0 ? planned : 0
  return { type: 'retried' as const, data: { reason: INTERRUPTED, interrupted: true, delayMs }, delayMs }
}
