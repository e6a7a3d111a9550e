import type { AccountSettings } from './account.js'
import type { Channel, ChannelTraits } from './channel.js'
import { canonicalJson, type Json } from './evidence/canonical-json.js'
import { type ChainedEvent, chainEvent, GENESIS, sha256 } from './evidence/evidence.js'
import type { Scope } from './scope.js'
import type { Attachment } from './send/attachment.js'
import { FALLBACK_STEP, type SequenceStep, type StepCondition, type Turn, turnsOf } from './send/sequence.js'

/** A send request that passed every rule, in the project's own words. */
export interface SendRequest {
  recipientName: string
  subject: string
  content: string
  customId: string | null
  attachments: Attachment[]
  /** Before this nothing is sent; null: at once. */
  sendAt: Date | null
  validation: { question: string; reply: string } | null
  /** One for each channel that was asked for, in the order of the registry. */
  deliveries: RequestedDelivery[]
}

export interface RequestedDelivery {
  channel: Channel
  /** Address, number or name; null where the request names none. */
  recipient: string | null
  /** Stored with the delivery, for the channel to prepare the message from. */
  request: JsonObject
  /** The template that the request names. */
  template: string | null
  turn: RequestedTurn
}

/**
 * sequence: when the account's sequence says; where it says nothing, as a fallback if the channel is one, else at once. immediate: at once,
 * and fallback: if the channel that it is the fallback for fails, whatever a sequence says.
 */
type RequestedTurn = 'sequence' | 'immediate' | 'fallback'

export type JsonObject = { readonly [key: string]: Json }

/** The version of a template at the time of the acceptance. */
export type TemplateVersion = { id: string; version: number }

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
  /** What one message of it has bound of the account's cap; null: the account has none. */
  boundCost?: number | null
}

/** Question and salted hash of the reply, as stored. */
export type StoredValidation = { question: string; salt: string; hash: string }

/** The rows that one accepted request writes in one transaction. */
export interface Acceptance extends Scope {
  id: string
  acceptedAt: Date
  request: SendRequest
  validation: StoredValidation | null
  deliveries: PlannedDelivery[]
  /** The revision of the rules by which the deliveries were planned; null: the send is written whatever rules the account has now. */
  rulesRevision: number | null
  event: ChainedEvent
  idempotency: { key: string; bodySha256: string } | null
  /** The person of the console who sent it, for the log of actions. */
  actor?: string
  line?: BatchLine
}

/** The line of a batch that a notification was made of. */
export type BatchLine = { batch: string; line: number }

export interface Sender extends Scope {
  /** The id of the token; of a send from the console, the operator who sent it. */
  token: string
  /** The person of the console who sends. */
  actor?: string
  address: string
  rules: DeliveryRules
}

export const namedTemplates = ({ deliveries }: SendRequest): { channel: Channel; name: string }[] =>
  deliveries.flatMap(({ channel, template }) => (template === null ? [] : [{ channel, name: template }]))

/** A channel outside the order: it goes at once, and no step depends on it. */
const IMMEDIATE: Turn = { step: 0, waitMinutes: 0, condition: 'always' }
const FIRST: Turn = { step: 1, waitMinutes: 0, condition: 'always' }

export interface DeliveryRules {
  sequence: readonly SequenceStep[] | null
  settings: AccountSettings
  /** The account's, at the moment when these rules were read. */
  revision: number
}

export type TraitsOf = (channel: Channel) => ChannelTraits

/**
 * The deliveries of a request in their first state: the account's sequence orders them. Without a sequence, all but a fallback are sent
 * at once. `startMs`: until the time of sending that the request asks for.
 */
export function planDeliveries(
  { deliveries }: Pick<SendRequest, 'deliveries'>,
  rules: DeliveryRules,
  templates: ReadonlyMap<Channel, TemplateVersion>,
  traitsOf: TraitsOf,
  startMs = 0,
): PlannedDelivery[] {
  const turns = planTurns(deliveries, rules, traitsOf)
  return deliveries.map(({ channel, recipient, request }) => {
    const { step, waitMinutes, condition } = turns.get(channel) ?? IMMEDIATE
    const state = startMs === 0 && (step === 0 || step === 1) ? 'queued' : 'waiting'
    const template = templates.get(channel) ?? null
    return { channel, state, waitMs: startMs + waitMinutes * 60_000, step, condition, recipient, request, template }
  })
}

function planTurns(
  deliveries: readonly RequestedDelivery[],
  { sequence, settings }: DeliveryRules,
  traitsOf: TraitsOf,
): Map<Channel, Turn> {
  const channelsOf = (chosen: readonly RequestedDelivery[]) => new Set(chosen.map(({ channel }) => channel))
  const ordered = channelsOf(deliveries.filter(({ turn }) => turn !== 'immediate'))
  const turns = turnsOf(sequence ?? [], channelsOf(deliveries.filter(({ turn }) => turn === 'sequence')))
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

/** The first event of every notification. */
export function acceptedEvent(
  notification: string,
  acceptedAt: Date,
  request: SendRequest,
  { account, mode, token, address }: Sender,
  planned: readonly PlannedDelivery[],
  salt: Buffer,
): ChainedEvent {
  const { customId, recipientName, subject } = request
  const contentSha256 = sha256(request.content)
  const attachments = request.attachments.map(file => ({ name: file.name, sha256: file.sha256, size: file.bytes.length }))
  const deliveries = planned.map(({ channel, recipient, state, waitMs, step, condition, request: part, template: named }) => {
    const requestSha256 = sha256(canonicalJson(part))
    const template = named && { id: named.id, version: named.version }
    return { channel, recipient, state, waitMs, step, condition, requestSha256, template }
  })
  const scheduled = request.sendAt === null ? {} : { sendAt: request.sendAt.toISOString() }
  const data = {
    account,
    mode,
    token,
    address,
    customId,
    recipientName,
    subject,
    contentSha256,
    attachments,
    deliveries,
    ...scheduled,
  }
  const at = acceptedAt.toISOString()
  return chainEvent({ notification, seq: 1, at, type: 'accepted', source: 'api', data, salt, prev: GENESIS })
}
