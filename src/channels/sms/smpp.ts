import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PartPlan, planParts } from '../../domain/delivery/message-parts.js'
import { MAX_TAGGED_PARTS, makeTag } from '../../domain/delivery/reference-tag.js'
import { OperatorError } from '../../domain/errors.js'
import { septetsOf } from '../../domain/text/gsm7.js'
import { HOUR_MS } from '../../domain/units.js'
import { type Carrier, type CarrierEvent, type Provider, SendError } from '../provider.js'
import type { ProviderModule } from '../provider-module.js'
import { choiceReader, integerReader, readCredential, readHost, refuseUnknown } from '../url-options.js'
import { carrierReference, HAS_HEADER, readEvents } from './smpp-events.js'
import { SmppLink } from './smpp-link.js'
import { type Address, FINAL_RECEIPT, INTERMEDIATE_RECEIPT, submitBody } from './smpp-pdu.js'
import type { Part, PartOutcome } from './smpp-session.js'
import { type SmsMessage, smsContent } from './sms-message.js'

export interface SmppOptions {
  onEvents(events: readonly CarrierEvent[]): Promise<void>
  /** Called for a PDU from the carrier that cannot be decoded. */
  onUnreadable(error: unknown): void
  /** Trusted instead of the system's certificate authorities. */
  ca?: string
  timeoutMs?: number
  responseTimeoutMs?: number
  keepAliveMs?: number
}

/** Less than a third of a lease, so that the lease of a living worker cannot expire during a send. */
const TIMEOUT_MS = 12_000
const RESPONSE_TIMEOUT_MS = 8_000
const KEEP_ALIVE_MS = 15_000
const WINDOW = 50
/** The pause before a part is submitted again after the carrier has accepted other parts of the message. */
const PART_PAUSE_MS = 300
/** SMPP 3.4, 5.3.2: the tags that each carrier may define. */
const FIRST_CARRIER_TLV = 0x1400
const LAST_CARRIER_TLV = 0x3fff
const INTERNATIONAL = { ton: 1, npi: 1 }
/** After the end of the validity the carrier reports it, and the report travels. */
const REPORT_MARGIN_HOURS = 1

/**
 * SMS through a carrier's SMSC, SMPP 3.4: smpp://user:password@host:2775, smpps:// with TLS.
 * Options: from=sender, ton and npi of the sender, system-type, window=messages in flight, validity=hours, intermediate=on or off,
 * unanswered=person, repeat or replace, reference-tlv=tag of an optional parameter with our reference, rate=messages per second (of the lane).
 */
export const smppProvider = (options: SmppOptions): Provider<SmsMessage> => ({
  name: 'smpp',
  channel: 'sms',
  // Receipts return our user_message_reference, so a message that arrived is recognised. A missing receipt proves nothing: docs/adr/0026.
  whenUnknown: 'report',
  timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  open: async url => openSmsc(url, options),
})

export const smpp: ProviderModule<SmsMessage, SmppOptions> = {
  create: smppProvider,
  identify(url) {
    const { systemId, host, port } = readSmppUrl(url, {}).session
    return `${systemId}@${host}:${port}`
  },
  // Twice the window: the next message is ready when there is room.
  concurrency: url => 2 * Number(url.searchParams.get('window') ?? WINDOW),
}

function openSmsc(url: URL, options: SmppOptions): Carrier<SmsMessage> {
  const { session, submission, repeatAfterMs } = readSmppUrl(url, options)
  const link = new SmppLink(session, {
    onDeliver: body => handleDeliver(body, options),
    onLate({ reference, to, number, total }, id) {
      const of = { ours: reference, ...(id === '' ? {} : { carrier: [carrierReference(id, to)] }), part: { number, total } }
      options.onEvents([{ kind: 'report', of, type: 'sent', at: null, answer: `id:${id}` }]).catch(options.onUnreadable)
    },
  })
  return {
    get ready() {
      return link.ready
    },
    ...(repeatAfterMs === null ? {} : { repeatAfterMs }),
    lacks: ({ text }) => planParts(text).parts.length > MAX_TAGGED_PARTS,
    async send(message, signal) {
      const plan = planParts(message.text)
      if (plan.parts.length > MAX_TAGGED_PARTS) {
        throw new SendError(
          'permanent',
          `O texto precisa de ${plan.parts.length} partes; por SMPP o máximo são ${MAX_TAGGED_PARTS}. Reduza o texto ou tire os caracteres fora do GSM-7.`,
        )
      }
      const outcomes = await submitAll(link, partsToSend(message, createParts(message, plan, submission)), signal)
      const idOf = (outcome: PartOutcome | undefined) => (outcome !== undefined && 'id' in outcome ? outcome.id : null)
      const references = plan.parts.map((_, place) => {
        const id = idOf(outcomes.get(place))
        return id === null ? null : carrierReference(id, message.to)
      })
      const error = combineErrors([...outcomes.values()], references)
      if (error !== null) throw error
      return {
        references,
        answer: [...outcomes.values()].map(outcome => `id:${idOf(outcome)}`).join(' '),
        delivered: false,
        facts: { segments: plan.parts.length, encoding: plan.encoding },
      }
    },
    contentOf: smsContent,
    close: () => link.close(),
  }
}

/** Resolves once the events are committed. An unreadable PDU is acknowledged too, because the carrier would repeat it without end. */
async function handleDeliver(body: Buffer, { onEvents, onUnreadable }: SmppOptions): Promise<void> {
  let events: CarrierEvent[] = []
  try {
    events = readEvents(body)
  } catch (error) {
    onUnreadable(error)
  }
  if (events.length > 0) await onEvents(events)
}

/** The parts that the carrier has not accepted yet, by index. All of them if the text is now split differently. */
function partsToSend({ taken }: SmsMessage, parts: readonly Part[]): Map<number, Part> {
  const known = taken?.total === parts.length ? taken.parts : []
  return new Map([...parts.entries()].filter(([place]) => !known.includes(place + 1)))
}

/** Retries single parts here once the carrier has accepted others, because the whole message can then not be retried. */
async function submitAll(link: SmppLink, parts: ReadonlyMap<number, Part>, signal: AbortSignal) {
  const session = await link.session(signal)
  const outcomes = new Map<number, PartOutcome>()
  const submit = async (places: readonly number[]): Promise<void> => {
    const chosen = places.map(place => parts.get(place)!)
    for (const [index, outcome] of (await session.submit(chosen, signal)).entries()) outcomes.set(places[index]!, outcome)
  }
  const retryableParts = (): number[] => [...outcomes].flatMap(([place, outcome]) => (isRetryable(outcome) ? [place] : []))
  await submit([...parts.keys()])
  while (!signal.aborted && !session.ended && [...outcomes.values()].some(isTaken) && retryableParts().length > 0) {
    await sleep(PART_PAUSE_MS, undefined, { signal }).catch(() => {})
    await submit(retryableParts())
  }
  return outcomes
}

const isTaken = (outcome: PartOutcome): boolean => 'id' in outcome
const isRetryable = (outcome: PartOutcome): boolean =>
  'error' in outcome && (outcome.error.kind === 'temporary' || outcome.error.kind === 'throttled')

/** null when all parts were accepted. Otherwise the error that decides about the whole message. */
function combineErrors(outcomes: readonly PartOutcome[], references: readonly (string | null)[]): SendError | null {
  const errors = outcomes.flatMap(outcome => ('error' in outcome ? [outcome.error] : []))
  if (errors.length === 0) return null
  const of = (kind: SendError['kind']): SendError | undefined => errors.find(error => error.kind === kind)
  const worst = of('permanent') ?? of('uncertain') ?? errors[0]!
  const someTaken = outcomes.some(isTaken)
  // A refused part does not undo the others: as a refusal of the whole, the message could be sent a second time.
  const mayHaveLeft = someTaken || of('uncertain') !== undefined
  if (worst.kind === 'permanent' ? !mayHaveLeft : !someTaken) return worst
  return new SendError('uncertain', reasonOfRest(worst, someTaken), {
    cause: worst,
    answer: worst.answer,
    // A refusal of one part says that the carrier works.
    scope: worst.kind === 'permanent' ? 'message' : 'carrier',
    references: someTaken ? references : [],
  })
}

function reasonOfRest({ kind, reason }: SendError, someTaken: boolean): string {
  if (kind === 'uncertain') return reason
  if (kind !== 'permanent') return 'A operadora aceitou só uma parte da mensagem.'
  const others = someTaken ? 'aceitou outra' : 'não respondeu sobre outra'
  return `A mensagem foi em partes: a operadora recusou uma e ${others}. Motivo da recusa: ${reason}`
}

/** What the URL says about every message. */
interface Submission {
  source: Address
  validity: string
  registeredDelivery: number
  /** A repeated message takes the place of the first one where that is still with the carrier. */
  replaces: boolean
  /** null: the reference is not sent as a whole. */
  referenceTlv: number | null
}

function createParts(message: SmsMessage, plan: PartPlan, submission: Submission): Part[] {
  const { source, validity, registeredDelivery, replaces, referenceTlv } = submission
  const total = plan.parts.length
  // The series number is the same at every attempt, so that a phone recognises a part that it already has.
  const series = createHash('sha256').update(message.reference).digest()[31]!
  const to = { ...INTERNATIONAL, digits: message.to.replace(/^\+/, '') }
  return plan.parts.map((text, index) => {
    const header = total === 1 ? [] : [5, 0, 3, series, total, index + 1]
    return {
      name: { reference: message.reference, to: message.to, number: index + 1, total },
      body: submitBody({
        serviceType: replaces ? serviceTypeOf(message.reference, index + 1) : '',
        source,
        to,
        esmClass: total === 1 ? 0 : HAS_HEADER,
        validity,
        registeredDelivery,
        replacesPending: replaces && message.repeated === true,
        dataCoding: plan.encoding === 'gsm7' ? 0 : 8,
        message: Buffer.concat([Buffer.from(header), encode(text, plan.encoding)]),
        referenceTag: makeTag(message.reference, index + 1, total),
        reference: referenceTlv === null ? null : { tag: referenceTlv, text: message.reference },
      }),
    }
  })
}

/**
 * One service type for each message and part. The carrier finds the message to be replaced by source, recipient and service type alone:
 * with the same type for all, a repetition would take the place of another notification to the same number.
 */
const serviceTypeOf = (reference: string, part: number): string =>
  (createHash('sha256').update(`${reference} ${part}`).digest().readUIntBE(0, 6) % 36 ** 5).toString(36).padStart(5, '0')

const encode = (text: string, encoding: PartPlan['encoding']): Buffer =>
  encoding === 'gsm7'
    ? Buffer.from([...text].flatMap(character => septetsOf(character) ?? []))
    : Buffer.from(text, 'utf16le').swap16()

function readSmppUrl(
  url: URL,
  { ca, responseTimeoutMs = RESPONSE_TIMEOUT_MS, keepAliveMs = KEEP_ALIVE_MS }: Partial<SmppOptions>,
) {
  const wrong = (what: string): never => {
    throw new OperatorError(`SMS_URL: ${what}. Exemplo: smpp://usuario:senha@smsc.example.com:2775?from=29000`)
  }
  const secure = url.protocol === 'smpps:'
  if (!secure && url.protocol !== 'smpp:') wrong('deve começar com smpp:// ou smpps://')
  if (url.hostname === '') wrong('falta o nome do servidor')
  refuseUnknown(
    url,
    ['from', 'ton', 'npi', 'system-type', 'window', 'validity', 'intermediate', 'unanswered', 'reference-tlv', 'rate'],
    wrong,
  )
  const integer = integerReader(url, wrong)
  const from = url.searchParams.get('from') ?? ''
  if (!/^(\+?\d{1,20}|[\w .&-]{0,11})$/.test(from)) wrong('from deve ser um número ou um nome de até 11 caracteres, sem acentos')
  const { ton, npi, digits } = senderAddress(from)
  const session = {
    host: readHost(url),
    port: url.port === '' ? (secure ? 3550 : 2775) : Number(url.port),
    secure,
    ca,
    systemId: readCredential(url.username, wrong),
    password: readCredential(url.password, wrong),
    systemType: url.searchParams.get('system-type') ?? '',
    window: integer('window', WINDOW, 1, 1_000),
    responseTimeoutMs,
    keepAliveMs,
  }
  const choice = choiceReader(url, wrong)
  const hours = integer('validity', 48, 1, 24 * 28)
  const unanswered = choice('unanswered', ['person', 'repeat', 'replace'])
  const submission: Submission = {
    source: { ton: integer('ton', ton, 0, 6), npi: integer('npi', npi, 0, 18), digits },
    validity: relativeTime(hours),
    registeredDelivery: choice('intermediate', ['on', 'off']) === 'on' ? FINAL_RECEIPT | INTERMEDIATE_RECEIPT : FINAL_RECEIPT,
    replaces: unanswered === 'replace',
    referenceTlv: url.searchParams.has('reference-tlv') ? integer('reference-tlv', 0, FIRST_CARRIER_TLV, LAST_CARRIER_TLV) : null,
  }
  const repeatAfterMs = { person: null, repeat: (hours + REPORT_MARGIN_HOURS) * HOUR_MS, replace: 0 }[unanswered]
  return { session, submission, repeatAfterMs }
}

/** TON/NPI of the sender: a name is alphanumeric (5/0), a short code network specific (3/0), a full number international (1/1). */
function senderAddress(from: string): Address {
  if (from === '') return { ton: 0, npi: 0, digits: '' }
  if (!/^\+?\d+$/.test(from)) return { ton: 5, npi: 0, digits: from }
  const digits = from.replace('+', '')
  return digits.length < 8 ? { ton: 3, npi: 0, digits } : { ...INTERNATIONAL, digits }
}

/** SMPP 3.4, 7.1.1: YYMMDDhhmmss, tenths of seconds, 00 and R for a relative time. */
const relativeTime = (hours: number): string =>
  `0000${String(Math.floor(hours / 24)).padStart(2, '0')}${String(hours % 24).padStart(2, '0')}0000000R`
