import type { Attachment } from './attachment.js'
import { canonicalJson, type Json } from './canonical-json.js'
import { type ChainedEvent, chainEvent, GENESIS, sha256 } from './evidence.js'
import { FALLBACK_STEP, type SequenceStep, type StepCondition, type Turn, turnsOf } from './sequence.js'
import type { Mode } from './token.js'

export const channels = ['email', 'sms', 'whatsapp', 'voice', 'letter'] as const
export type Channel = (typeof channels)[number]

/** For people. */
export const channelNames: Record<Channel, string> = {
  email: 'e-mail',
  sms: 'SMS',
  whatsapp: 'WhatsApp',
  voice: 'ligação',
  letter: 'carta',
}

/** A send request that passed every rule, in the project's own words. */
export interface SendRequest {
  recipientName: string
  email: string | null
  subject: string
  content: string
  customId: string | null
  attachments: Attachment[]
  validation: { question: string; reply: string } | null
  sms: { number: string; always: boolean; customMessage: string | null } | null
  whatsapp: { number: string; template: string | null; variables: JsonObject } | null
  voice: { number: string; template: string | null; payload: JsonObject } | null
  letter: { name: string | null; model: string | null; template: string | null; variables: JsonObject } | null
}

export type JsonObject = { readonly [key: string]: Json }

/** A template as it stood when the request was accepted. */
export interface TemplateVersion {
  id: string
  version: number
}

export interface PlannedDelivery {
  channel: Channel
  /** queued: goes at once. waiting: goes after `waitMs`, or earlier or never as its condition turns out. */
  state: 'queued' | 'waiting'
  waitMs: number
  step: number
  condition: StepCondition
  recipient: string | null
  request: JsonObject
  template: TemplateVersion | null
}

/** Question and salted hash of the reply, as stored. */
export type StoredValidation = { question: string; salt: string; hash: string }

/** Everything that one accepted request writes, in one transaction. */
export interface Acceptance {
  id: string
  account: string
  mode: Mode
  acceptedAt: Date
  request: SendRequest
  validation: StoredValidation | null
  deliveries: PlannedDelivery[]
  event: ChainedEvent
  idempotency: { key: string; bodySha256: string } | null
}

export interface Sender {
  account: string
  mode: Mode
  token: string
  address: string
  rules: DeliveryRules
}

/** The template that each channel of a request names, if it names one. */
export function namedTemplates(request: SendRequest): { channel: Channel; name: string }[] {
  const named: { channel: Channel; name: string }[] = []
  for (const channel of ['whatsapp', 'voice', 'letter'] as const) {
    const name = request[channel]?.template
    if (name != null) named.push({ channel, name })
  }
  return named
}

/** A channel outside the order: it goes at once, and no step depends on it. */
const IMMEDIATE: Turn = { step: 0, waitMinutes: 0, condition: 'always' }
const FIRST: Turn = { step: 1, waitMinutes: 0, condition: 'always' }

export interface DeliveryRules {
  sequence: readonly SequenceStep[] | null
  fallbackMinutes: number
}

/** The deliveries of a request in their first state: the account's sequence orders them, or all go at once but a fallback SMS. */
export function planDeliveries(
  request: SendRequest,
  rules: DeliveryRules,
  templates: ReadonlyMap<Channel, TemplateVersion>,
): PlannedDelivery[] {
  const deliveries: PlannedDelivery[] = []
  const turns = turnsFor(request, rules)
  const plan = (channel: Channel, recipient: string | null, details: JsonObject): void => {
    const { step, waitMinutes, condition } = turns.get(channel) ?? IMMEDIATE
    deliveries.push({
      channel,
      state: step === 0 || step === 1 ? 'queued' : 'waiting',
      waitMs: waitMinutes * 60_000,
      step,
      condition,
      recipient,
      request: details,
      template: templates.get(channel) ?? null,
    })
  }
  const { email, sms, whatsapp, voice, letter } = request
  if (email !== null) plan('email', email, {})
  if (sms !== null) plan('sms', sms.number, { always: sms.always, customMessage: sms.customMessage })
  if (whatsapp !== null) plan('whatsapp', whatsapp.number, { template: whatsapp.template, variables: whatsapp.variables })
  if (voice !== null) plan('voice', voice.number, { template: voice.template, payload: voice.payload })
  if (letter !== null) {
    plan('letter', letter.name, { model: letter.model, template: letter.template, variables: letter.variables })
  }
  return deliveries
}

function turnsFor(request: SendRequest, { sequence, fallbackMinutes }: DeliveryRules): Map<Channel, Turn> {
  const asked = new Set(channels.filter(channel => request[channel] !== null))
  // typeSend '2': always sent, whatever a sequence says.
  if (request.sms?.always) asked.delete('sms')
  const turns = turnsOf(sequence ?? [], asked)
  // typeSend '1' where no sequence says otherwise: the SMS waits for the e-mail.
  if (asked.has('email') && asked.has('sms') && !turns.has('sms')) {
    const email = turns.get('email') ?? FIRST
    turns.set('email', email)
    turns.set('sms', { step: FALLBACK_STEP, waitMinutes: email.waitMinutes + fallbackMinutes, condition: 'not delivered' })
  }
  return turns
}

/** The first event of every notification: what was asked, by whom, from where. */
export function acceptedEvent(
  id: string,
  at: Date,
  request: SendRequest,
  sender: Sender,
  deliveries: readonly PlannedDelivery[],
  salt: Buffer,
): ChainedEvent {
  return chainEvent({
    notification: id,
    seq: 1,
    at: at.toISOString(),
    type: 'accepted',
    source: 'api',
    salt,
    prev: GENESIS,
    data: {
      account: sender.account,
      mode: sender.mode,
      token: sender.token,
      address: sender.address,
      customId: request.customId,
      recipientName: request.recipientName,
      subject: request.subject,
      contentSha256: sha256(request.content),
      attachments: request.attachments.map(file => ({ name: file.name, sha256: file.sha256, size: file.bytes.length })),
      deliveries: deliveries.map(delivery => ({
        channel: delivery.channel,
        recipient: delivery.recipient,
        state: delivery.state,
        waitMs: delivery.waitMs,
        step: delivery.step,
        condition: delivery.condition,
        requestSha256: sha256(canonicalJson(delivery.request)),
        template: delivery.template && { id: delivery.template.id, version: delivery.template.version },
      })),
    },
  })
}
