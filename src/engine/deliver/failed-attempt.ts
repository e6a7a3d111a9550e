import type { SendError } from '../../channels/provider.js'
import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import type { AttemptOutcome } from '../../domain/delivery/change.js'
import type { Fact } from '../../domain/delivery/transition.js'
import { hidePersonal } from '../../domain/recipient/mask.js'
import type { Claim } from '../../store/delivery/claims.js'
import { gaveUp, namesOf, takenOf } from '../unknown/resolve.js'
import type { LaneOptions } from './lane-options.js'

export interface FailedAttempt {
  type: 'uncertain' | 'failed' | 'retried'
  data: Fact['data']
  more: Pick<AttemptOutcome, 'delayMs' | 'failover' | 'references' | 'content' | 'unreached'>
  /** Why no program can find out whether the message was sent; null: a program can, or it is known. */
  unresolved: string | null
}

/** A failed attempt, for the log. */
export interface FailureNote {
  notification: string
  channel: Channel
  mode: Mode
  carrier: string
  attempt: number
  /** What becomes of the delivery. */
  outcome: FailedAttempt['type']
  /** Until the next attempt, or until an unknown outcome is looked at; null: there is none. */
  delayMs: number | null
  /** The code at the beginning of the carrier's answer, as SMTP and HTTP have it. */
  code: string | null
  reason: string
}

/** The answer itself stays out: carriers quote addresses, numbers and texts in it. */
export function describeFailure(
  { channel, mode, identity }: { channel: Channel; mode: Mode; identity: string },
  { notification, attempt }: Claim,
  { type, data, more }: FailedAttempt,
): FailureNote {
  const code = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?(?!\d)/.exec(String(data.answer ?? ''))?.[0] ?? null
  const reason = hidePersonal(String(data.reason ?? data.failureDetail ?? data.failure ?? ''))
  const note = { notification, channel, mode, carrier: identity, attempt, outcome: type }
  return { ...note, delayMs: more.delayMs ?? null, code, reason }
}

type Parts = Pick<LaneOptions<unknown>, 'carriers' | 'identity' | 'settleMs' | 'retryDelaysMs' | 'clock'> & {
  provider: Pick<LaneOptions<unknown>['provider'], 'whenUnknown'>
}

const REFUSED_AFTER_UNKNOWN =
  'A operadora recusou este envio, mas uma tentativa anterior pode ter chegado. Uma pessoa precisa conferir.'
const MAX_DELAY_MS = 4 * 60 * 60_000
/** A pause that is waited for. During a longer one another carrier takes over. */
export const BRIEF_PAUSE_MS = 10_000

/**
 * What becomes of a delivery after an attempt that failed, or whose outcome is unknown; `putBackMs`: it goes back into the queue, as if
 * it had not been claimed. `byCarrier`: the carrier itself failed, not the preparation or the recipient's server.
 */
export function afterFailure(
  parts: Parts,
  claim: Claim,
  error: SendError,
  byCarrier: boolean,
): { putBackMs: number } | FailedAttempt {
  const { retryDelaysMs, clock } = parts
  const askedForMs = Math.ceil(Math.min(error.retryAfterMs ?? 0, MAX_DELAY_MS))
  if (error.untried && isYoung(retryDelaysMs, claim, clock())) return { putBackMs: askedForMs }
  const { reference, attempt } = claim
  const answer = error.answer ?? error.message
  const data = { ...error.facts, carrier: parts.identity, reference, attempt, reason: error.reason, answer }
  const failover = byCarrier && !claim.bound && mayFailOver(parts.carriers, claim, error)
  const planned = delayAfter(retryDelaysMs, claim) ?? (failover ? lastDelay(retryDelaysMs, claim) : null)
  const isOver = planned === null && error.kind !== 'permanent'
  // An earlier attempt may have arrived: that no later one did is no reason to say that the delivery failed.
  if (error.kind === 'uncertain' || (isOver && claim.unknownCount > 0)) return afterUnknown(parts, data, error, planned)
  if (error.kind === 'permanent') return afterRefusal(parts, claim, { ...data, failure: 'rejected', failureDetail: error.reason })
  if (planned === null) return { type: 'failed', data: { ...data, ...gaveUp(error.reason) }, more: {}, unresolved: null }
  const delayMs = Math.max(askedForMs, planned)
  return { type: 'retried', data: { ...data, delayMs }, more: { delayMs, failover }, unresolved: null }
}

function afterUnknown(parts: Parts, data: Fact['data'], { references }: SendError, planned: number | null): FailedAttempt {
  const delayMs = parts.provider.whenUnknown === 'safe' && planned !== null ? planned : parts.settleMs
  const more = { delayMs, ...namesOf(parts.identity, references) }
  return { type: 'uncertain', data: { ...data, ...takenOf(references) }, more, unresolved: null }
}

/** Final, unless an earlier attempt may have arrived: then the carrier is asked, or a person decides. */
export function afterRefusal(
  { provider, settleMs }: Pick<Parts, 'provider' | 'settleMs'>,
  { unknownCount }: Claim,
  data: Fact['data'],
): FailedAttempt {
  if (unknownCount === 0) return { type: 'failed', data, more: {}, unresolved: null }
  if (provider.whenUnknown === 'lookup') return { type: 'uncertain', data, more: { delayMs: settleMs }, unresolved: null }
  return { type: 'uncertain', data, more: {}, unresolved: REFUSED_AFTER_UNKNOWN }
}

/** Only a message that is known not to have left: otherwise another carrier would send it a second time. */
function mayFailOver(carriers: number, { tried }: Claim, { kind, retryAfterMs }: SendError): boolean {
  const isAway = kind === 'temporary' || (kind === 'throttled' && (retryAfterMs ?? 0) > BRIEF_PAUSE_MS)
  return isAway && new Set(tried.filter(rank => rank < carriers)).size < carriers
}

/** The plan of attempts of a delivery. Attempts that failed over to another carrier do not count: a round of all carriers is one. */
type Attempted = Pick<Claim, 'attempt' | 'failovers'>

/** null: it was the last. */
export function delayAfter(delaysMs: readonly number[], { attempt, failovers }: Attempted): number | null {
  const planned = delaysMs[attempt - failovers - 1]
  return planned === undefined ? null : jittered(planned)
}

/** In the last round every carrier has its turn too. If none of them takes the delivery, one more attempt ends it. */
const lastDelay = (delaysMs: readonly number[], { attempt, failovers }: Attempted): number | null =>
  attempt - failovers - 1 === delaysMs.length ? (delaysMs.at(-1) ?? 0) : null

/** A delivery that was put off for longer than the whole plan uses up attempts like one that is refused: every delivery ends. */
const isYoung = (delaysMs: readonly number[], { acceptedAt }: Pick<Claim, 'acceptedAt'>, now: number): boolean =>
  now - acceptedAt.getTime() < delaysMs.reduce((sum, delay) => sum + delay, 0)

/** By up to 20 %: deliveries that failed together must not come back together. */
export const jittered = (delayMs: number): number => Math.round(delayMs * (0.8 + Math.random() * 0.4))
