import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../domain/errors.js'
import { septetsOf } from '../../domain/gsm7.js'
import { type PartPlan, planParts } from '../../domain/message-parts.js'
import { MAX_TAGGED_PARTS, makeTag } from '../../domain/reference-tag.js'
import { type Carrier, type CarrierEvent, type Provider, type Receipt, SendError, type SmsMessage } from '../provider.js'
import { refuseUnknown } from '../url-options.js'
import { nameOf, readEvents } from './smpp-events.js'
import { SmppLink } from './smpp-link.js'
import { type Address, submitBody } from './smpp-pdu.js'
import type { Part, PartOutcome, SessionSettings } from './smpp-session.js'

/**
 * SMS through a carrier's SMSC, SMPP 3.4: smpp://user:password@host:2775, smpps:// with TLS.
 * Options: from=sender, ton and npi of it, system-type, window=messages under way, validity=hours, rate=messages a second (of the
 * lane).
 */
export interface SmppOptions {
  onEvents(events: readonly CarrierEvent[]): Promise<void>
  /** Told of what the carrier says and nobody can read. */
  onUnreadable(error: unknown): void
  /** Trusted instead of the usual authorities. */
  ca?: string
  timeoutMs?: number
  patienceMs?: number
  pulseMs?: number
}

/** Less than a third of the lease: a worker that is alive is never taken for dead in the middle of a send. */
const TIMEOUT_MS = 12_000
const PATIENCE_MS = 8_000
const PULSE_MS = 15_000
const WINDOW = 50
const OPTIONS = ['from', 'ton', 'npi', 'system-type', 'window', 'validity', 'rate']
/** Between tries of a part that the carrier put off while it holds the others already. */
const PART_PAUSE_MS = 300
const INTERNATIONAL = { ton: 1, npi: 1 }
const HAS_HEADER = 0x40

export function smppProvider(options: SmppOptions): Provider<SmsMessage> {
  const { timeoutMs = TIMEOUT_MS } = options
  return {
    name: 'smpp',
    channel: 'sms',
    // Receipts give back our reference tag: a message that arrived after all is known, one that did not is sent once more.
    whenUnknown: 'report',
    timeoutMs,
    open: async url => openSmsc(url, options),
    identify(url) {
      const { systemId, host, port } = readSmppUrl(url, options).session
      return `${systemId}@${host}:${port}`
    },
  }
}

function openSmsc(url: URL, options: SmppOptions): Carrier<SmsMessage> {
  const { session: settings, source, validity } = readSmppUrl(url, options)
  const link = new SmppLink(settings, {
    onDeliver: body => takeDeliver(body, options),
    onLate({ reference, to, number, total }, id) {
      const of = { ours: reference, ...(id === '' ? {} : { carrier: [nameOf(id, to)] }), part: { number, total } }
      options.onEvents([{ kind: 'report', of, type: 'sent', at: null, answer: `id:${id}` }]).catch(options.onUnreadable)
    },
  })
  return {
    get ready() {
      return link.ready
    },
    async send(message, signal): Promise<Receipt> {
      const plan = planParts(message.text)
      if (plan.parts.length > MAX_TAGGED_PARTS) {
        throw new SendError('permanent', `O texto precisa de ${plan.parts.length} partes; o máximo são ${MAX_TAGGED_PARTS}.`)
      }
      const outcomes = await submitAll(link, missingOf(message, partsOf(message, plan, source, validity)), signal)
      const references = plan.parts.map((_, place) => nameIn(outcomes.get(place), message.to))
      const error = errorIn([...outcomes.values()], references)
      if (error !== null) throw error
      return {
        references,
        answer: [...outcomes.values()].map(outcome => ('id' in outcome ? `id:${outcome.id}` : '')).join(' '),
        delivered: false,
        facts: { segments: plan.parts.length, encoding: plan.encoding },
      }
    },
    close: () => link.close(),
  }
}

/** Acknowledged only once it is committed; what cannot be read would come again for ever. */
async function takeDeliver(body: Buffer, { onEvents, onUnreadable }: SmppOptions): Promise<void> {
  let events: CarrierEvent[]
  try {
    events = readEvents(body)
  } catch (error) {
    return onUnreadable(error)
  }
  await onEvents(events)
}

/** By their places: those that the carrier does not have yet. Where the text is cut otherwise by now, all of them. */
function missingOf({ taken }: SmsMessage, parts: readonly Part[]): Map<number, Part> {
  const known = taken?.total === parts.length ? taken.parts : []
  return new Map([...parts.entries()].filter(([place]) => !known.includes(place + 1)))
}

/** Parts that are put off while others are taken are tried again here: the message as a whole can no longer be. */
async function submitAll(
  link: SmppLink,
  parts: ReadonlyMap<number, Part>,
  signal: AbortSignal,
): Promise<Map<number, PartOutcome>> {
  const session = await link.session(signal)
  const outcomes = new Map<number, PartOutcome>()
  const submit = async (places: readonly number[]): Promise<void> => {
    const answers = await session.submit(
      places.map(place => parts.get(place)!),
      signal,
    )
    for (const [index, place] of places.entries()) outcomes.set(place, answers[index]!)
  }
  const putOff = (): number[] => [...outcomes].flatMap(([place, outcome]) => (isPutOff(outcome) ? [place] : []))
  await submit([...parts.keys()])
  while (!signal.aborted && !session.ended && [...outcomes.values()].some(isTaken) && putOff().length > 0) {
    await sleep(PART_PAUSE_MS, undefined, { signal }).catch(() => {})
    await submit(putOff())
  }
  return outcomes
}

const isTaken = (outcome: PartOutcome): boolean => 'id' in outcome
const isPutOff = (outcome: PartOutcome): boolean =>
  'error' in outcome && (outcome.error.kind === 'temporary' || outcome.error.kind === 'throttled')

const nameIn = (outcome: PartOutcome | undefined, to: string): string | null =>
  outcome !== undefined && 'id' in outcome ? nameOf(outcome.id, to) : null

/** null where all were taken; otherwise the one error that says most about the whole message. */
function errorIn(outcomes: readonly PartOutcome[], references: readonly (string | null)[]): SendError | null {
  const errors = outcomes.flatMap(outcome => ('error' in outcome ? [outcome.error] : []))
  if (errors.length === 0) return null
  const of = (kind: SendError['kind']): SendError | undefined => errors.find(error => error.kind === kind)
  const worst = of('permanent') ?? of('uncertain') ?? errors[0]!
  if (worst.kind === 'permanent' || !outcomes.some(isTaken)) return worst
  const reason = worst.kind === 'uncertain' ? worst.reason : 'A operadora aceitou só uma parte da mensagem.'
  return new SendError('uncertain', reason, {
    cause: worst,
    references,
    ...(worst.answer === null ? {} : { answer: worst.answer }),
  })
}

function partsOf(message: SmsMessage, plan: PartPlan, source: Address, validity: string): Part[] {
  const total = plan.parts.length
  // The same at every try: a phone that has a part already knows it again.
  const series = createHash('sha256').update(message.reference).digest()[31]!
  const to = { ...INTERNATIONAL, digits: message.to.replace(/^\+/, '') }
  return plan.parts.map((text, index) => {
    const header = total === 1 ? [] : [5, 0, 3, series, total, index + 1]
    return {
      name: { reference: message.reference, to: message.to, number: index + 1, total },
      body: submitBody({
        source,
        to,
        esmClass: total === 1 ? 0 : HAS_HEADER,
        validity,
        dataCoding: plan.encoding === 'gsm7' ? 0 : 8,
        message: Buffer.concat([Buffer.from(header), encode(text, plan.encoding)]),
        referenceTag: makeTag(message.reference, index + 1, total),
      }),
    }
  })
}

const encode = (text: string, encoding: PartPlan['encoding']): Buffer =>
  encoding === 'gsm7'
    ? Buffer.from([...text].flatMap(character => septetsOf(character) ?? []))
    : Buffer.from(text, 'utf16le').swap16()

function readSmppUrl(url: URL, { ca, patienceMs = PATIENCE_MS, pulseMs = PULSE_MS }: SmppOptions) {
  const wrong = (what: string): never => {
    throw new OperatorError(`SMS_URL: ${what}. Exemplo: smpp://usuario:senha@smsc.example.com:2775?from=29000`)
  }
  const secure = url.protocol === 'smpps:'
  if (!secure && url.protocol !== 'smpp:') wrong('deve começar com smpp:// ou smpps://')
  if (url.hostname === '') wrong('falta o nome do servidor')
  refuseUnknown(url, OPTIONS, wrong)
  const whole = (name: string, fallback: number, least: number, most: number): number => {
    const text = url.searchParams.get(name) ?? String(fallback)
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : wrong(`${name} deve ser um número de ${least} a ${most}`)
  }
  const from = url.searchParams.get('from') ?? ''
  if (!/^(\+?\d{1,20}|[\w .&-]{0,11})$/.test(from)) wrong('from deve ser um número ou um nome de até 11 caracteres, sem acentos')
  const { ton, npi, digits } = senderOf(from)
  const session: SessionSettings = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 3550 : 2775) : Number(url.port),
    secure,
    ...(ca === undefined ? {} : { ca }),
    systemId: decode(url.username, wrong),
    password: decode(url.password, wrong),
    systemType: url.searchParams.get('system-type') ?? '',
    window: whole('window', WINDOW, 1, 1_000),
    patienceMs,
    pulseMs,
  }
  const hours = whole('validity', 48, 1, 24 * 28)
  const source: Address = { ton: whole('ton', ton, 0, 6), npi: whole('npi', npi, 0, 18), digits }
  return { session, source, validity: relativeTime(hours) }
}

/** A name is alphanumeric (5/0), a short code the network's own (3/0), a whole number international (1/1). */
function senderOf(from: string): Address {
  if (from === '') return { ton: 0, npi: 0, digits: '' }
  if (!/^\+?\d+$/.test(from)) return { ton: 5, npi: 0, digits: from }
  const digits = from.replace('+', '')
  return digits.length < 8 ? { ton: 3, npi: 0, digits } : { ...INTERNATIONAL, digits }
}

/** 7.1.1: YYMMDDhhmmss, tenths, and R for "from now on". */
const relativeTime = (hours: number): string =>
  `0000${String(Math.floor(hours / 24)).padStart(2, '0')}${String(hours % 24).padStart(2, '0')}0000000R`

function decode(text: string, wrong: (what: string) => never): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return wrong('usuário ou senha com um % que não é um código; escreva-o como %25')
  }
}
