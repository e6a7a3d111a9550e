import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { unknownClassOf } from '../../channels/unknown-class.js'
import type { Change, ChangeOutcome } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import type { Fact } from '../../domain/transition.js'
import type { Pool } from '../../store/postgres.js'
import { findStranded, putOffUncertain, takeOrphaned, takeUncertain, type Uncertain } from '../../store/unknown-outcomes.js'
import type { Lane } from '../deliver/lane.js'
import { INTERRUPTED, MAX_RESENDS, type Settlement } from './resolve.js'

/** The looking after what nobody knows: it is asked, waited for, or left to a person, as the provider's class says. */
export interface SettlingParts {
  pool: Pool
  clock: Clock
  record(change: Change): Promise<ChangeOutcome>
  onError(error: unknown, what: string): void
}

/** Questions to one carrier at a time. */
const PARALLEL = 16
const POLL_MS = 1_000
/** How long those that are being looked at are left alone by others: longer than a carrier may take to answer. */
const HOLD_MS = 2 * 60_000
/** Before anything is done about a send of a carrier that this worker does not know. */
export const UNKNOWN_SETTLE_MS = 10 * 60_000
const GONE = 'A operadora que pode ter recebido este envio não está mais configurada.'

/** One loop for each carrier, so that a silent one holds up nobody else's, and one for carriers that are gone; until the signal. */
export function settleDoubts(parts: SettlingParts, lanes: readonly Lane<unknown>[], signal: AbortSignal): Promise<unknown> {
  // Every question listens to it: many are no leak.
  setMaxListeners(0, signal)
  const known = lanes.flatMap(({ channel, mode, names }) => names.map(name => `${channel} ${mode} ${name}`))
  return Promise.all([
    ...lanes.map(lane => repeat(parts, signal, () => settleLane(parts, lane, signal))),
    repeat(parts, signal, () => settleOrphans(parts, known)),
  ])
}

/** `round`: whether there is more to do at once. */
async function repeat({ onError }: SettlingParts, signal: AbortSignal, round: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) {
    const more = await round().catch(error => onError(error, 'uncertain deliveries'))
    if (more !== true) await sleep(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

async function settleLane(parts: SettlingParts, lane: Lane<unknown>, signal: AbortSignal): Promise<boolean> {
  const { channel, mode, names, settleMs } = lane
  const due = await takeUncertain(parts.pool, { channel, mode, providers: names, limit: PARALLEL, holdMs: HOLD_MS })
  await Promise.all(
    // Called off because this worker stops: the next one asks at once.
    due.map(uncertain => look(parts, uncertain, () => (signal.aborted ? 0 : settleMs), lane.settle(uncertain, signal))),
  )
  return due.length === PARALLEL
}

async function look(
  { pool, onError }: SettlingParts,
  uncertain: Uncertain,
  laterMs: () => number,
  settling: Promise<Settlement>,
): Promise<void> {
  try {
    const next = await settling
    if (next !== 'settled') await putOffUncertain(pool, uncertain, next === 'later' ? laterMs() : null)
  } catch (error) {
    onError(error, 'an uncertain delivery')
  }
}

/** What waits in the queue for a carrier that is gone is in doubt again, so that somebody hears of it. */
async function settleOrphans(parts: SettlingParts, known: readonly string[]): Promise<boolean> {
  const stranded = await findStranded(parts.pool, known, UNKNOWN_SETTLE_MS, PARALLEL)
  await Promise.all(
    stranded.map(delivery => parts.record({ ...changeOf(parts, delivery, 'uncertain', GONE), whilst: 'queued', delayMs: 0 })),
  )
  const due = await takeOrphaned(parts.pool, known, { limit: PARALLEL, holdMs: HOLD_MS })
  await Promise.all(due.map(orphan => look(parts, orphan, () => UNKNOWN_SETTLE_MS, settleOrphan(parts, orphan))))
  return stranded.length === PARALLEL || due.length === PARALLEL
}

/** A safe carrier's goes with those that there are, the rest waits for who knows it, or for a person. */
async function settleOrphan(parts: SettlingParts, orphan: Uncertain): Promise<Settlement> {
  if (unknownClassOf(orphan.provider) !== 'safe') return 'later'
  if (orphan.doubts > MAX_RESENDS) return 'a person'
  await parts.record({ ...changeOf(parts, orphan, 'retried', INTERRUPTED), whilst: 'uncertain', delayMs: 0, toAnyCarrier: true })
  return 'settled'
}

function changeOf({ clock }: SettlingParts, of: Uncertain, type: 'uncertain' | 'retried', reason: string): Change {
  const { notification, channel, provider, reference, attempt, ordinal } = of
  const fact: Fact = { channel, type, at: new Date(clock()), source: 'engine', data: { provider, reference, attempt, reason } }
  return { notification, fact, of: { attempt, ordinal } }
}
