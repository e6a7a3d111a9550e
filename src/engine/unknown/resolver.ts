import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { unknownClassOf } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import type { Recorder, Resolution } from '../../domain/delivery/change.js'
import {
  findStranded,
  putOffUnknown,
  takeOrphaned,
  takeUnknown,
  type UnknownOutcome,
} from '../../store/delivery/unknown-outcomes.js'
import type { IdMonths } from '../../store/months.js'
import type { Pool } from '../../store/postgres.js'
import type { Lane } from '../deliver/lane.js'
import type { EngineTiming } from '../timing.js'
import { INTERRUPTED, LONGEST_LOOKUP_MS, MAX_RESENDS, type ResolveResult, UNANSWERED_AGAIN } from './resolve.js'

export interface ResolverParts {
  pool: Pool
  clock: Clock
  record: Recorder['record']
  openMonths: () => IdMonths | null
  timing: Pick<EngineTiming, 'pollMs' | 'holdMs' | 'orphanMs'>
  onError(error: unknown, what: string): void
}

/** Questions to one carrier at a time. */
const PARALLEL = 16
const GONE = 'A operadora que pode ter recebido este envio não está mais configurada.'
const GONE_FOR_LONG =
  'A operadora que pode ter recebido este envio não está mais configurada, e em 24 horas não se soube se ela o recebeu. Uma pessoa precisa conferir.'

/**
 * Resolves attempts with unknown outcome: asks the carrier, or waits for its report, sends again where the class or the operator
 * allows it, or hands the attempts to an operator. One loop for each carrier, so that a silent carrier holds up no other, and one loop
 * for carriers that are gone. Runs until the signal.
 */
export function resolveUnknown(parts: ResolverParts, lanes: readonly Lane<unknown>[], signal: AbortSignal): Promise<unknown> {
  // Every question to a carrier listens to the signal: many listeners are no leak.
  setMaxListeners(0, signal)
  const known = lanes.map(({ channel, mode, identity }) => `${channel} ${mode} ${identity}`)
  return Promise.all([
    ...lanes.map(lane => repeat(parts, signal, () => resolveOfLane(parts, lane, signal))),
    repeat(parts, signal, () => resolveOrphans(parts, known)),
  ])
}

/** `round` tells whether there is more to do at once. */
async function repeat({ timing, onError }: ResolverParts, signal: AbortSignal, round: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) {
    const more = await round().catch(error => onError(error, 'unknown outcomes'))
    if (more !== true) await sleep(timing.pollMs, undefined, { signal }).catch(() => {})
  }
}

async function resolveOfLane(parts: ResolverParts, lane: Lane<unknown>, signal: AbortSignal): Promise<boolean> {
  const { channel, mode, identity, settleMs } = lane
  const { holdMs } = parts.timing
  const due = await takeUnknown(parts.pool, {
    channel,
    mode,
    carrier: identity,
    limit: PARALLEL,
    holdMs,
    months: parts.openMonths(),
  })
  await Promise.all(
    // A question that was aborted because this worker stops is asked again at once by the next worker.
    due.map(outcome => follow(parts, outcome, () => (signal.aborted ? 0 : settleMs), lane.resolve(outcome, signal))),
  )
  return due.length === PARALLEL
}

async function follow(
  parts: ResolverParts,
  outcome: UnknownOutcome,
  laterMs: () => number,
  resolving: Promise<ResolveResult>,
): Promise<void> {
  try {
    const result = await resolving
    if (result === 'later') await putOffUnknown(parts.pool, outcome, laterMs())
    else if (result === 'resolved') return
    else if ('laterMs' in result) await putOffUnknown(parts.pool, outcome, Math.ceil(result.laterMs))
    else await parts.record(resolutionOf(parts, outcome, 'unresolved', result.unresolved))
  } catch (error) {
    parts.onError(error, 'an unknown outcome')
  }
}

/** A queued delivery that is bound to a carrier that is gone gets an unknown outcome again, so that the sender and an operator hear of it. */
async function resolveOrphans(parts: ResolverParts, known: readonly string[]): Promise<boolean> {
  const { holdMs, orphanMs } = parts.timing
  const bounds = { limit: PARALLEL, months: parts.openMonths() }
  const stranded = await findStranded(parts.pool, known, orphanMs, bounds)
  await Promise.all(
    stranded.map(delivery => parts.record({ ...resolutionOf(parts, delivery, 'uncertain', GONE), state: 'queued', delayMs: 0 })),
  )
  const due = await takeOrphaned(parts.pool, known, { ...bounds, holdMs })
  await Promise.all(due.map(orphan => follow(parts, orphan, () => orphanMs, resolveOrphan(parts, orphan))))
  return stranded.length === PARALLEL || due.length === PARALLEL
}

/** Another carrier may send what is safe to repeat. Everything else waits a day for its own carrier to come back, and then for a person. */
async function resolveOrphan(parts: ResolverParts, orphan: UnknownOutcome): Promise<ResolveResult> {
  const whenUnknown = unknownClassOf(orphan.carrier)
  if (whenUnknown === 'never') return { unresolved: GONE }
  if (whenUnknown !== 'safe') return orphan.unknownForMs >= LONGEST_LOOKUP_MS ? { unresolved: GONE_FOR_LONG } : 'later'
  if (orphan.unknownCount > MAX_RESENDS) return { unresolved: UNANSWERED_AGAIN }
  await parts.record({ ...resolutionOf(parts, orphan, 'retried', INTERRUPTED), delayMs: 0, toAnyCarrier: true })
  return 'resolved'
}

function resolutionOf(
  { clock }: ResolverParts,
  { notification, channel, carrier, reference, attempt, ordinal }: UnknownOutcome,
  type: 'uncertain' | 'unresolved' | 'retried',
  reason: string,
): Resolution {
  const data = { carrier, reference, attempt, reason }
  const fact = { channel, type, at: new Date(clock()), source: 'engine', data }
  return { kind: 'resolution', notification, fact, state: 'uncertain', attempt, ordinal }
}
