import type { Carrier, Found, Provider, Receipt } from '../../channels/provider.js'
import { takenFact } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import type { CarrierReferences, Recorder, Resolution } from '../../domain/delivery/change.js'
import type { Fact } from '../../domain/delivery/transition.js'
import { HOUR_MS } from '../../domain/units.js'
import type { UnknownOutcome } from '../../store/delivery/unknown-outcomes.js'

export interface ResolveParts {
  provider: Pick<Provider<unknown>, 'whenUnknown' | 'timeoutMs'>
  carrier: Pick<Carrier<unknown>, 'find' | 'repeatAfterMs'>
  identity: string
  clock: Clock
  record: Recorder['record']
}

/** resolved: recorded; later: the carrier could not be asked; laterMs: there is nothing to do before; unresolved: only a person can find out, for this reason. */
export type ResolveResult = 'resolved' | 'later' | { laterMs: number } | { unresolved: string }

/** Why an attempt is repeated whose worker is gone. */
export const INTERRUPTED = 'O processo que fazia este envio foi interrompido.'
const NOT_TAKEN = 'A operadora não recebeu este envio: ele é repetido.'
const UNANSWERED = 'A operadora não confirmou se recebeu este envio: ele é repetido com o mesmo identificador.'
const NO_REPORT = 'A operadora não deu notícia deste envio, ou não de todo: o que falta é enviado mais uma vez.'
const NO_REPORT_YET =
  'A operadora não deu notícia deste envio, ou não de todo. O aviso dela ainda pode chegar e esclarecer; sem ele, uma pessoa precisa conferir.'
export const UNANSWERED_AGAIN =
  'A operadora não confirmou se recebeu este envio, nem depois de ele ser repetido. Uma pessoa precisa conferir.'
const UNANSWERED_LAST = 'A operadora não confirmou se recebeu este envio, e era a última tentativa. Uma pessoa precisa conferir.'
const CANNOT_BE_ASKED = 'A operadora não confirmou se recebeu este envio e não há como consultá-la. Uma pessoa precisa conferir.'
const NOT_FOUND_OUT =
  'Em 24 horas, a consulta à operadora não esclareceu se ela recebeu este envio. O aviso dela ainda pode chegar e esclarecer; sem ele, uma pessoa precisa conferir.'
/** How long a carrier is asked about an unknown outcome, or is waited for while it is not configured, before a person decides. */
export const LONGEST_LOOKUP_MS = 24 * HOUR_MS
/** How often a message of unknown outcome is sent again to a safe carrier before it is left to a person. */
export const MAX_RESENDS = 2

/**
 * Resolves one attempt with unknown outcome, by the class of its provider. `planned`: the wait after this attempt by the plan; null: it
 * was the last. `stop`: aborts the question to the carrier.
 */
export async function resolveOutcome(
  parts: ResolveParts,
  outcome: UnknownOutcome,
  planned: number | null,
  stop: AbortSignal,
): Promise<ResolveResult> {
  const { provider, carrier, identity } = parts
  const { attempt, unknownCount } = outcome
  const retryNow = (reason: string): Promise<ResolveResult> =>
    conclude(parts, outcome, 'retried', { reason, delayMs: 0 }, { delayMs: 0 })
  if (provider.whenUnknown === 'safe') {
    if (unknownCount > MAX_RESENDS) return { unresolved: UNANSWERED_AGAIN }
    return planned === null ? { unresolved: UNANSWERED_LAST } : retryNow(UNANSWERED)
  }
  if (provider.whenUnknown === 'report') {
    // A report may come hours later, when a telephone is switched on: until then nobody knows that the message did not arrive.
    if (carrier.repeatAfterMs === undefined) return { unresolved: NO_REPORT_YET }
    if (unknownCount > 1) return { unresolved: UNANSWERED_AGAIN }
    const laterMs = carrier.repeatAfterMs - outcome.unknownForMs
    return laterMs > 0 ? { laterMs } : retryNow(NO_REPORT)
  }
  if (provider.whenUnknown !== 'lookup' || carrier.find === undefined) return { unresolved: CANNOT_BE_ASKED }
  const found = await ask(carrier.find.bind(carrier), outcome, provider.timeoutMs, stop)
  if (found === null) {
    // A question that was called off because this worker stops says nothing of the carrier.
    const isOver = outcome.unknownForMs >= LONGEST_LOOKUP_MS && !stop.aborted
    return isOver ? { unresolved: NOT_FOUND_OUT } : 'later'
  }
  if (found !== 'unknown') {
    const { references, answer } = found
    return conclude(parts, outcome, takenFact(outcome.channel), { answer, resolved: true }, namesOf(identity, references))
  }
  if (planned === null) return conclude(parts, outcome, 'failed', gaveUp(NOT_TAKEN))
  // At once after the first attempt, then as planned: a message that is never answered must end like one that is always refused.
  const delayMs = attempt > 1 ? planned : 0
  return conclude(parts, outcome, 'retried', { reason: NOT_TAKEN, delayMs, notTaken: true }, { delayMs })
}

/** null: no answer. */
async function ask(
  find: NonNullable<Carrier<unknown>['find']>,
  { reference, recipient }: UnknownOutcome,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Found | null> {
  const late = new AbortController()
  const abort = (): void => late.abort()
  const timer = setTimeout(abort, timeoutMs)
  stop.addEventListener('abort', abort, { once: true })
  if (stop.aborted) abort()
  try {
    return await find(reference, recipient, late.signal)
  } catch {
    return null
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', abort)
  }
}

async function conclude(
  { identity, record, clock }: ResolveParts,
  { notification, channel, reference, attempt, ordinal }: UnknownOutcome,
  type: 'sent' | 'processed' | 'retried' | 'failed',
  data: Fact['data'],
  more: Pick<Resolution, 'delayMs' | 'references'> = {},
): Promise<ResolveResult> {
  const fact = {
    channel,
    type,
    at: new Date(clock()),
    source: identity,
    data: { carrier: identity, reference, attempt, ...data },
  }
  await record({ kind: 'resolution', notification, fact, state: 'uncertain', attempt, ordinal, ...more })
  return 'resolved'
}

/** After the last attempt: a person may have the delivery sent again. */
export const gaveUp = (reason: string) => ({ reason, failure: 'rejected', failureDetail: reason, dead: true }) as const

export const namesOf = (carrier: string, names: Receipt['references']): { references?: CarrierReferences } =>
  names.length > 0 ? { references: { carrier, names } } : {}

/** The parts that the carrier took before it stopped answering. */
export function takenOf(references: Receipt['references']): { taken?: { parts: number[]; total: number } } {
  const parts = references.flatMap((name, place) => (name === null ? [] : [place + 1]))
  return parts.length === 0 ? {} : { taken: { parts, total: references.length } }
}
