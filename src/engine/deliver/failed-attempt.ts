import type { SendError } from '../../channels/provider.js'
import type { AttemptOutcome } from '../../domain/change.js'
import type { Fact } from '../../domain/transition.js'
import type { Claim } from '../../store/claims.js'
import { gaveUp, namesOf, takenOf } from '../unknown/resolve.js'
import type { LaneOptions } from './lane-options.js'
import { delayAfter, isYoung, lastDelay } from './retries.js'

/** What becomes of a delivery whose try led to nothing, or to nothing that anybody knows of. */
export type AfterFailure =
  /** Left in the queue, as if it had not been claimed. */
  { putBackMs: number } | FailedTry

export interface FailedTry {
  type: 'uncertain' | 'failed' | 'retried'
  data: Fact['data']
  more: Pick<AttemptOutcome, 'delayMs' | 'failover' | 'references'>
  /** Why no program can find out whether the message was sent; null: one can, or there is no doubt. */
  unresolved: string | null
}

type Parts = Pick<LaneOptions<unknown>, 'carriers' | 'carrierKey' | 'settleMs' | 'retryDelaysMs' | 'clock'> & {
  provider: Pick<LaneOptions<unknown>['provider'], 'name' | 'whenUnknown'>
}

const REFUSED_AFTER_UNKNOWN =
  'A operadora recusou este envio, mas uma tentativa anterior pode ter chegado. Uma pessoa precisa conferir.'
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
  const failover = byCarrier && !claim.bound && mayGoElsewhere(parts.carriers, claim, error)
  const planned = delayAfter(retryDelaysMs, claim) ?? (failover ? lastDelay(retryDelaysMs, claim) : null)
  const isOver = planned === null && error.kind !== 'permanent'
  // One of the tries before may have arrived: that none of the later ones did is no reason to say that it failed.
  if (error.kind === 'uncertain' || (isOver && claim.doubts > 0)) {
    const delayMs = provider.whenUnknown === 'safe' && planned !== null ? planned : settleMs
    const more = { delayMs, ...namesOf(carrierKey, error.references) }
    return { type: 'uncertain', data: { ...data, ...takenOf(error.references) }, more, unresolved: null }
  }
  if (error.kind === 'permanent') return afterRefusal(parts, claim, { ...data, failure: 'rejected', failureDetail: error.reason })
  if (planned === null) return { type: 'failed', data: { ...data, ...gaveUp(error.reason) }, more: {}, unresolved: null }
  const delayMs = Math.max(askedForMs, planned)
  return { type: 'retried', data: { ...data, delayMs }, more: { delayMs, failover }, unresolved: null }
}

/** Final, unless an earlier attempt may have arrived: then the carrier is asked, or a person decides. */
export function afterRefusal(
  { provider, settleMs }: Pick<Parts, 'provider' | 'settleMs'>,
  { doubts }: Claim,
  data: Fact['data'],
): FailedTry {
  if (doubts === 0) return { type: 'failed', data, more: {}, unresolved: null }
  if (provider.whenUnknown === 'lookup') return { type: 'uncertain', data, more: { delayMs: settleMs }, unresolved: null }
  return { type: 'uncertain', data, more: {}, unresolved: REFUSED_AFTER_UNKNOWN }
}

/** Only what is known not to have left: in doubt, another carrier would send it a second time. */
function mayGoElsewhere(carriers: number, { tried }: Claim, { kind, retryAfterMs }: SendError): boolean {
  const isAway = kind === 'temporary' || (kind === 'throttled' && (retryAfterMs ?? 0) > BRIEF_PAUSE_MS)
  return isAway && new Set(tried.filter(rank => rank < carriers)).size < carriers
}
