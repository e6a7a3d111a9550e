import type { SendError } from '../../channels/provider.js'
import type { Change } from '../../domain/change.js'
import type { Fact } from '../../domain/transition.js'
import type { Claim } from '../../store/claims.js'
import { gaveUp, namesOf, takenOf } from '../unknown/resolve.js'
import type { LaneOptions } from './lane-options.js'
import { delayAfter, isYoung, lastDelay } from './retries.js'

/** What becomes of a delivery whose try led to nothing, or to nothing that anybody knows of. */
export type AfterFailure =
  /** Left in the queue, as if it had not been claimed. */
  { putBackMs: number } | FailedTry

interface FailedTry {
  type: 'uncertain' | 'failed' | 'retried'
  data: Fact['data']
  more: Pick<Change, 'delayMs' | 'detour' | 'references'>
}

type Parts = Pick<LaneOptions<unknown>, 'carriers' | 'carrierKey' | 'settleMs' | 'retryDelaysMs' | 'clock'> & {
  provider: Pick<LaneOptions<unknown>['provider'], 'name' | 'whenUnknown'>
}

/** A hundred years: no program looks at it. */
const FOR_A_PERSON_MS = 100 * 365 * 86_400_000
const MAX_DELAY_MS = 4 * 60 * 60_000
/** A pause that is waited for: another carrier is for when this one fails. */
export const BRIEF_PAUSE_MS = 10_000

/** `byCarrier`: the carrier itself failed, not the way to it or the recipient's server. */
export function afterFailure(parts: Parts, claim: Claim, error: SendError, byCarrier: boolean): AfterFailure {
  const { provider, carrierKey, settleMs, retryDelaysMs, clock } = parts
  const askedForMs = Math.min(error.retryAfterMs ?? 0, MAX_DELAY_MS)
  if (error.untried && isYoung(retryDelaysMs, claim, clock())) return { putBackMs: askedForMs }
  const data = {
    provider: provider.name,
    reference: claim.reference,
    attempt: claim.attempt,
    reason: error.reason,
    answer: error.answer ?? error.message,
  }
  const detour = byCarrier && !claim.bound && mayGoElsewhere(parts.carriers, claim, error)
  const planned = delayAfter(retryDelaysMs, claim) ?? (detour ? lastDelay(retryDelaysMs, claim) : null)
  const isOver = planned === null && error.kind !== 'permanent'
  // One of the tries before may have arrived: that none of the later ones did is no reason to say that it failed.
  if (error.kind === 'uncertain' || (isOver && claim.doubts > 0)) {
    const delayMs = provider.whenUnknown === 'safe' && planned !== null ? planned : settleMs
    const more = { delayMs, ...namesOf(carrierKey, error.references) }
    return { type: 'uncertain', data: { ...data, ...takenOf(error.references) }, more }
  }
  if (error.kind === 'permanent') return afterRefusal(parts, claim, { ...data, failure: 'rejected', failureDetail: error.reason })
  if (planned === null) return { type: 'failed', data: { ...data, ...gaveUp(error.reason) }, more: {} }
  const delayMs = Math.max(askedForMs, planned)
  return { type: 'retried', data: { ...data, delayMs }, more: { delayMs, detour } }
}

/** Final, unless one of the tries before may have arrived: whoever can tell is asked, or a person looks. */
export function afterRefusal(
  { provider, settleMs }: Pick<Parts, 'provider' | 'settleMs'>,
  { doubts }: Claim,
  data: Fact['data'],
): FailedTry {
  if (doubts === 0) return { type: 'failed', data, more: {} }
  return { type: 'uncertain', data, more: { delayMs: provider.whenUnknown === 'lookup' ? settleMs : FOR_A_PERSON_MS } }
}

/** Only what is known not to have left: in doubt, another carrier would send it a second time. */
function mayGoElsewhere(carriers: number, { tried }: Claim, { kind, retryAfterMs }: SendError): boolean {
  const isAway = kind === 'temporary' || (kind === 'throttled' && (retryAfterMs ?? 0) > BRIEF_PAUSE_MS)
  return isAway && new Set(tried.filter(rank => rank < carriers)).size < carriers
}
