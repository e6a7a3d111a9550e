import { unknownClassOf } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import type { AttemptOutcome, Recorder } from '../../domain/delivery/change.js'
import { type ExpiredLease, findExpiredLeases } from '../../store/delivery/claims.js'
import type { IdMonths } from '../../store/months.js'
import { isLocked, type Pool } from '../../store/postgres.js'
import type { Lane } from '../deliver/lane.js'
import type { LaneOptions } from '../deliver/lane-options.js'
import { INTERRUPTED } from '../unknown/resolve.js'

export interface ReaperParts {
  pool: Pool
  clock: Clock
  /** Does not wait for what another transaction holds. */
  record: Recorder['record']
  openMonths: () => IdMonths | null
  onFailed?: LaneOptions<unknown>['onFailed']
}

const BATCH = 500
/** A dead worker may have held more than a batch, but the loop must end. */
const MAX_PASSES = 20

/** Takes up the deliveries that dead workers held. Whether they were sent is unknown: the class of the provider decides. */
export async function reapLeases(parts: ReaperParts, lanes: readonly Lane<unknown>[], orphanMs: number): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const expired = await findExpiredLeases(parts.pool, BATCH, parts.openMonths())
    const now = new Date(parts.clock())
    const recorded = await Promise.allSettled(expired.map(lease => takeUp(parts, lease, afterDeath(lease, lanes, orphanMs, now))))
    const failed = recorded.filter(result => result.status === 'rejected').map(({ reason }) => reason as unknown)
    const fault = failed.find(reason => !isLocked(reason))
    if (fault !== undefined) throw fault
    // What another transaction holds is found again in the next round.
    if (expired.length < BATCH || failed.length > 0) return
  }
}

/** The worker that made the attempt cannot say any more that it failed. */
async function takeUp({ record, onFailed }: ReaperParts, lease: ExpiredLease, death: Death): Promise<void> {
  if ((await record(death)) !== 'recorded') return
  const { notification, channel, mode, carrier, attempt } = lease
  const outcome = death.fact.type
  onFailed?.({ notification, channel, mode, carrier, attempt, outcome, delayMs: death.delayMs, code: null, reason: INTERRUPTED })
}

type Death = AttemptOutcome & { fact: { type: 'uncertain' | 'retried' }; delayMs: number }

/**
 * A safe attempt is repeated at once the first time, then as planned: a message that kills its worker must neither do so without end
 * nor several times in a row.
 */
function afterDeath(lease: ExpiredLease, lanes: readonly Lane<unknown>[], orphanMs: number, at: Date): Death {
  const { notification, channel, carrier, ordinal, attempt, owner, mode, unknownCount } = lease
  const lane = lanes.find(known => known.mode === mode && known.channel === channel && known.identity === carrier)
  const isSafe = (lane?.whenUnknown ?? unknownClassOf(carrier)) === 'safe'
  const planned = lane === undefined ? orphanMs : lane.delayAfter(lease)
  const ended = { kind: 'attempt', notification, fence: { owner, attempt, ordinal } } as const
  const fact = { channel, at, source: 'engine' }
  const data = { carrier, attempt, reason: INTERRUPTED }
  // Where the plan is over, an attempt may have arrived anyway: the delivery did not fail.
  if (!isSafe || planned === null)
    return { ...ended, fact: { ...fact, type: 'uncertain', data }, delayMs: isSafe ? 0 : (lane?.settleMs ?? orphanMs) }
  const delayMs = unknownCount > 0 ? planned : 0
  return { ...ended, fact: { ...fact, type: 'retried', data: { ...data, interrupted: true, delayMs } }, delayMs }
}
