import type { Carrier, Found, Provider, Receipt } from '../../channels/provider.js'
import type { Change, ChangeOutcome } from '../../domain/change.js'
import type { Clock } from '../../domain/clock.js'
import type { Fact } from '../../domain/transition.js'
import type { Uncertain } from '../../store/unknown-outcomes.js'

/** What is done about a send of which nobody knows whether it happened, as the provider's class says. */
export interface DoubtParts {
  provider: Pick<Provider<unknown>, 'name' | 'whenUnknown' | 'takenIs' | 'timeoutMs'>
  carrier: Pick<Carrier<unknown>, 'find'>
  /** Whose references these are. */
  carrierKey: string
  clock: Clock
  record(change: Change): Promise<ChangeOutcome>
}

/** settled: recorded; later: the carrier could not be asked; a person: nobody else can know. */
export type Settlement = 'settled' | 'later' | 'a person'

/** Why a try is repeated whose worker is gone. */
export const INTERRUPTED = 'O processo que fazia este envio foi interrompido.'
const NOT_TAKEN = 'A operadora não recebeu este envio: ele é repetido.'
const UNANSWERED = 'A operadora não confirmou se recebeu este envio: ele é repetido com o mesmo identificador.'
const NOT_TOLD = 'A operadora não deu notícia deste envio, ou não de todo: o que falta é enviado mais uma vez.'
/** How often a safe carrier is given a message once more of which it did not say whether it took it; then a person looks. */
export const MAX_RESENDS = 2

/** `planned`: the wait after this try by the plan; null: it was the last. `stop`: calls off what is asked. */
export async function settleDoubt(
  parts: DoubtParts,
  uncertain: Uncertain,
  planned: number | null,
  stop: AbortSignal,
): Promise<Settlement> {
  const { provider, carrier, carrierKey } = parts
  const { attempt, doubts } = uncertain
  const retry = (reason: string, delayMs: number): Promise<Settlement> =>
    conclude(parts, uncertain, 'retried', { reason, delayMs }, { delayMs })
  // Its wait is over; but whom a carrier leaves in doubt again and again, a person looks at.
  if (provider.whenUnknown === 'safe') return doubts > MAX_RESENDS || planned === null ? 'a person' : retry(UNANSWERED, 0)
  if (provider.whenUnknown === 'report' && doubts === 1) return retry(NOT_TOLD, 0)
  if (provider.whenUnknown !== 'lookup' || carrier.find === undefined) return 'a person'
  const found = await ask(carrier.find.bind(carrier), uncertain, provider.timeoutMs, stop)
  if (found === null) return 'later'
  if (found !== 'unknown') {
    const { references, answer } = found
    const taken = provider.takenIs ?? 'sent'
    return conclude(parts, uncertain, taken, { answer, settled: true }, namesOf(carrierKey, references))
  }
  if (planned === null) return conclude(parts, uncertain, 'failed', gaveUp(NOT_TAKEN))
  // At once after the first try, then as planned: what is never answered must end like what is always refused.
  const delayMs = attempt > 1 ? planned : 0
  // There is no doubt left: any carrier may take it, and a refusal is one.
  return conclude(parts, uncertain, 'retried', { reason: NOT_TAKEN, delayMs, clears: ['doubts'] }, { delayMs })
}

/** null: no answer. */
async function ask(
  find: NonNullable<Carrier<unknown>['find']>,
  { reference, recipient }: Uncertain,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Found | null> {
  const late = new AbortController()
  const callOff = (): void => late.abort()
  const timer = setTimeout(callOff, timeoutMs)
  stop.addEventListener('abort', callOff, { once: true })
  if (stop.aborted) callOff()
  try {
    return await find(reference, recipient, late.signal)
  } catch {
    return null
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', callOff)
  }
}

async function conclude(
  { provider: { name }, record, clock }: DoubtParts,
  { notification, channel, reference, attempt, ordinal }: Uncertain,
  type: 'sent' | 'processed' | 'retried' | 'failed',
  data: Fact['data'],
  more: Pick<Change, 'delayMs' | 'references'> = {},
): Promise<Settlement> {
  const fact = { channel, type, at: new Date(clock()), source: name, data: { provider: name, reference, attempt, ...data } }
  await record({ notification, fact, whilst: 'uncertain', of: { attempt, ordinal }, ...more })
  return 'settled'
}

/** After the last try: a person may have it tried again. */
export const gaveUp = (reason: string) => ({ reason, failure: 'rejected', failureDetail: reason, dead: true }) as const

export const namesOf = (carrier: string, names: Receipt['references']): Pick<Change, 'references'> =>
  names.length > 0 ? { references: { carrier, names } } : {}

/** The parts that the carrier named before it fell silent. */
export function takenOf(references: Receipt['references']): { taken?: { parts: number[]; total: number } } {
  const parts = references.flatMap((name, place) => (name === null ? [] : [place + 1]))
  return parts.length === 0 ? {} : { taken: { parts, total: references.length } }
}
