import type { Attachment } from './attachment.js'
import { canonicalJson, type Json } from './canonical-json.js'
import { type ChainedEvent, chainEvent, GENESIS, sha256 } from './evidence.js'
import type { Mode } from './token.js'

export type Channel = 'email' | 'sms' | 'whatsapp' | 'voice' | 'letter'

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
  condition: 'email not delivered' | null
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
  fallbackMinutes: number
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

export function planDeliveries(
  request: SendRequest,
  fallbackMinutes: number,
  templates: ReadonlyMap<Channel, TemplateVersion>,
): PlannedDelivery[] {
  const deliveries: PlannedDelivery[] = []
  const plan = (channel: Channel, recipient: string | null, details: JsonObject, waitMs = 0): void => {
    deliveries.push({
      channel,
      state: waitMs > 0 ? 'waiting' : 'queued',
      waitMs,
      condition: waitMs > 0 ? 'email not delivered' : null,
      recipient,
      request: details,
      template: templates.get(channel) ?? null,
    })
  }
  const { email, sms, whatsapp, voice, letter } = request
  if (email !== null) plan('email', email, {})
  if (sms !== null) {
    // Without an e-mail there is nothing to wait for.
    const waits = !sms.always && email !== null
    plan('sms', sms.number, { always: sms.always, customMessage: sms.customMessage }, waits ? fallbackMinutes * 60_000 : 0)
  }
  if (whatsapp !== null) plan('whatsapp', whatsapp.number, { template: whatsapp.template, variables: whatsapp.variables })
  if (voice !== null) plan('voice', voice.number, { template: voice.template, payload: voice.payload })
  if (letter !== null) {
    plan('letter', letter.name, { model: letter.model, template: letter.template, variables: letter.variables })
  }
  return deliveries
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
        condition: delivery.condition,
        requestSha256: sha256(canonicalJson(delivery.request)),
        template: delivery.template && { id: delivery.template.id, version: delivery.template.version },
      })),
    },
  })
}
