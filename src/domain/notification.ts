import type { AccountSettings } from './account.js'
import type { Attachment } from './attachment.js'
import { canonicalJson, type Json } from './canonical-json.js'
import type { Channel, ChannelTraits } from './channel.js'
import { type ChainedEvent, chainEvent, GENESIS, sha256 } from './evidence.js'
import { FALLBACK_STEP, type SequenceStep, type StepCondition, type Turn, turnsOf } from './sequence.js'
import type { Mode } from './token.js'

/** A send request that passed every rule, in the project's own words. */
export interface SendRequest {
  recipientName: string
  subject: string
  content: string
  customId: string | null
  attachments: Attachment[]
  validation: { question: string; reply: string } | null
  /** One for each channel that was asked for, in the order of the registry. */
  deliveries: RequestedDelivery[]
}

/** One channel of a send request, as the channel's module read it. */
export interface RequestedDelivery {
  channel: Channel
  /** Address, number or name; null where the request names none. */
  recipient: string | null
  /** Stored with the delivery, for the channel to prepare the message from. */
  request: JsonObject
  /** The template that the request names. */
  template: string | null
  /** The sender wants it sent at once, whatever a sequence says. */
  immediate: boolean
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
export const namedTemplates = ({ deliveries }: SendRequest): { channel: Channel; name: string }[] =>
  deliveries.flatMap(({ channel, template }) => (template === null ? [] : [{ channel, name: template }]))

/** A channel outside the order: it goes at once, and no step depends on it. */
const IMMEDIATE: Turn = { step: 0, waitMinutes: 0, condition: 'always' }
const FIRST: Turn = { step: 1, waitMinutes: 0, condition: 'always' }

export interface DeliveryRules {
  sequence: readonly SequenceStep[] | null
  settings: AccountSettings
}

/** Finds the traits of a channel that a request named. */
export type TraitsOf = (channel: Channel) => ChannelTraits

/** The deliveries of a request in their first state: the account's sequence orders them, or all go at once but a fallback. */
export function planDeliveries(
  { deliveries }: SendRequest,
  rules: DeliveryRules,
  templates: ReadonlyMap<Channel, TemplateVersion>,
  traitsOf: TraitsOf,
): PlannedDelivery[] {
  const turns = planTurns(deliveries, rules, traitsOf)
  return deliveries.map(({ channel, recipient, request }) => {
    const { step, waitMinutes, condition } = turns.get(channel) ?? IMMEDIATE
    return {
      channel,
      state: step === 0 || step === 1 ? 'queued' : 'waiting',
      waitMs: waitMinutes * 60_000,
      step,
      condition,
      recipient,
      request,
      template: templates.get(channel) ?? null,
    }
  })
}

function planTurns(
  deliveries: readonly RequestedDelivery[],
  { sequence, settings }: DeliveryRules,
  traitsOf: TraitsOf,
): Map<Channel, Turn> {
  const ordered = new Set(deliveries.filter(({ immediate }) => !immediate).map(({ channel }) => channel))
  const turns = turnsOf(sequence ?? [], ordered)
  for (const channel of ordered) {
    const { fallback } = traitsOf(channel)
    if (fallback === undefined || !ordered.has(fallback.for) || turns.has(channel)) continue
    const before = turns.get(fallback.for) ?? FIRST
    turns.set(fallback.for, before)
    const waitMinutes = before.waitMinutes + fallback.waitMinutes(settings)
    turns.set(channel, { step: FALLBACK_STEP, waitMinutes, condition: 'not delivered' })
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
