import { unknownClassOf } from '../../channels/unknown-class.js'
import type { AttemptOutcome, Recorder } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import type { Fact } from '../../domain/transition.js'
import { type ExpiredLease, findExpiredLeases } from '../../store/delivery/claims.js'
import type { Pool } from '../../store/postgres.js'
import type { Lane } from '../deliver/lane.js'
import type { EngineTiming } from '../timing.js'
import { INTERRUPTED } from '../unknown/resolve.js'

/** Takes up the deliveries that dead workers held. Whether they were sent is unknown: the class of the provider decides. */
export interface ReaperParts {
  pool: Pool
  clock: Clock
  recorder: Recorder
  lanes: readonly Lane<unknown>[]
  timing: Pick<EngineTiming, 'orphanMs'>
}

const BATCH = 500
/** A dead worker may have held more than a batch, but the loop must end. */
const MAX_PASSES = 20

export async function reapLeases(parts: ReaperParts): Promise<void> {
  for (let pass = 0, count = BATCH; count === BATCH && pass < MAX_PASSES; pass++) count = await reapBatch(parts)
}

async function reapBatch({ pool, clock, recorder, lanes, timing }: ReaperParts): Promise<number> {
  const expired = await findExpiredLeases(pool, BATCH)
  await Promise.all(
    expired.map(lease => {
      const { notification, channel, carrier, ordinal, attempt, owner, mode } = lease
      const lane = lanes.find(known => known.mode === mode && known.channel === channel && known.identity === carrier)
      const { type, data, delayMs } = afterDeath(lease, lane, timing.orphanMs)
      const fact = { channel, type, at: new Date(clock()), source: 'engine', data: { carrier, attempt, ...data } }
      return recorder.record({ kind: 'attempt', notification, fact, fence: { owner, attempt, ordinal }, delayMs })
    }),
  )
  return expired.length
}

interface AfterDeath {
  type: 'retried' | 'uncertain'
  data: Fact['data']
  delayMs: NonNullable<AttemptOutcome['delayMs']>
}

/**
 * A safe attempt is repeated at once the first time, then as planned: a message that kills its worker must neither do so for ever
 * nor several times in a row.
 */
function afterDeath(lease: ExpiredLease, lane: Lane<unknown> | undefined, orphanMs: number): AfterDeath {
  const reason = INTERRUPTED
  const isSafe = (lane?.whenUnknown ?? unknownClassOf(lease.carrier)) === 'safe'
  if (!isSafe) return { type: 'uncertain', data: { reason }, delayMs: lane?.settleMs ?? orphanMs }
  const planned = lane === undefined ? orphanMs : lane.delayAfter(lease)
  // The plan is over, but an attempt may have arrived: the delivery did not fail.
  if (planned === null) return { type: 'uncertain', data: { reason }, delayMs: 0 }
  const delayMs = lease.unknownCount > 0 ? planned : 0
  return { type: 'retried', data: { reason, interrupted: true, delayMs }, delayMs }
}
