import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../domain/access/secret.js'
import { numberForms } from '../../domain/text/phone.js'
import { cutText } from '../../domain/text/text.js'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../domain/units.js'
import { parseJson } from '../carrier-http.js'
import type { Callback, CallbackContent, CallbackRequest, CarrierEvent, CarrierReply, CarrierReport } from '../provider.js'
import { meaningOf, unknownReason } from './graph-errors.js'
import { replyText } from './reply-text.js'

/** The provider's name, stored with every attempt and the last part of its callbacks' path. */
export const CLOUD_NAME = 'whatsapp-cloud'

export interface CloudCallbackParts {
  appSecret: string
  verifyToken: string
  /** The carrier with this number, by Meta's id for it; null: it is another number of the app, whose events are ignored. */
  identityOf(phoneNumberId: string): string | null
}

/** The waits before the next message while the trouble concerns the message or its recipient. */
const MESSAGE_WAITS_MS = [30 * SECOND_MS, 90 * SECOND_MS, 270 * SECOND_MS]
/** The waits while the account or the carrier has trouble: about a day, as for refused sends, because a person has to settle it with Meta. */
const CARRIER_WAITS_MS = [30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, ...Array<number>(23).fill(HOUR_MS)]
const REPORTS = ['sent', 'delivered', 'read'] as const

/** Meta's callbacks: the handshake, the reports on messages, and people's replies. */
export const cloudCallback = (parts: CloudCallbackParts): Callback => ({
  name: CLOUD_NAME,
  channel: 'whatsapp',
  async read(request): Promise<CallbackContent | null> {
    if (request.method === 'GET') return shakeHands(request, parts)
    return isSigned(request, parts.appSecret) ? readContent(request.body, parts.identityOf) : null
  },
})

function shakeHands({ url }: CallbackRequest, { verifyToken }: CloudCallbackParts): CallbackContent | null {
  const query = new URL(url).searchParams
  const challenge = query.get('hub.challenge') ?? ''
  const known = query.get('hub.mode') === 'subscribe' && isSameSecret(query.get('hub.verify_token') ?? '', verifyToken)
  if (!known || !/^[\w-]{1,256}$/.test(challenge)) return null
  return { carriers: [], events: [], answer: { type: 'text/plain; charset=utf-8', body: challenge } }
}

function isSigned({ headers, body }: CallbackRequest, secret: string): boolean {
  const signature = headers['x-hub-signature-256']
  return (
    typeof signature === 'string' && isSameSecret(signature, `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  )
}

interface Status {
  id?: unknown
  status?: unknown
  timestamp?: unknown
  biz_opaque_callback_data?: unknown
  errors?: { code?: unknown; title?: unknown; error_data?: { details?: unknown } }[]
}

interface Incoming {
  id?: unknown
  from?: unknown
  timestamp?: unknown
  context?: { from?: unknown; id?: unknown }
  type?: unknown
  reaction?: { message_id?: unknown }
}

type Value = { metadata?: { phone_number_id?: unknown }; statuses?: Status[]; messages?: Incoming[] }

/** The signature is verified already. Unreadable parts are ignored: Meta would repeat a refused callback for days. */
function readContent(body: Buffer, identityOf: CloudCallbackParts['identityOf']): CallbackContent {
  const carriers = new Set<string>()
  const events = valuesIn(body).flatMap(({ metadata, statuses, messages }): CarrierEvent[] => {
    const identity = identityOf(textOf(metadata?.phone_number_id))
    if (identity === null) return []
    carriers.add(identity)
    return [
      ...listOf(statuses).flatMap(status => readStatus(status) ?? []),
      ...listOf(messages).flatMap(message => readReply(message) ?? []),
    ]
  })
  return { carriers: [...carriers], events }
}

function valuesIn(body: Buffer): Value[] {
  const parsed = parseJson(body) as { entry?: { changes?: { field?: unknown; value?: Value }[] }[] } | null
  const changes = listOf(parsed?.entry).flatMap(entry => listOf(entry.changes))
  return changes.flatMap(({ field, value }) =>
    field === 'messages' && typeof value === 'object' && value !== null ? [value] : [],
  )
}

function readStatus(given: Status): CarrierReport | null {
  const id = textOf(given.id)
  const reference = textOf(given.biz_opaque_callback_data)
  if (id === '') return null
  const of = reference === '' ? { carrier: [id] } : { ours: reference, carrier: [id] }
  const about = { kind: 'report' as const, of, at: timeOf(given.timestamp) }
  const type = REPORTS.find(known => known === given.status)
  if (type !== undefined) return { ...about, type, answer: `${type} ${id}` }
  return given.status === 'failed' ? { ...about, ...readFailure(given, reference, id) } : null
}

/**
 * After temporary trouble another message is sent while the plan lasts, because the failed one will never arrive. After the last one a
 * person may order another.
 */
function readFailure({ errors }: Status, reference: string, id: string): Omit<CarrierReport, 'kind' | 'of' | 'at'> {
  const [error] = listOf(errors)
  const code = typeof error?.code === 'number' ? error.code : null
  const details = textOf(error?.error_data?.details) || textOf(error?.title)
  const answer = ['failed', id, code ?? '', details].join(' ').trimEnd()
  const meaning = meaningOf(code)
  const reason = meaning?.reason ?? unknownReason(code)
  if (meaning === null || meaning.kind === 'permanent') return { type: 'failed', answer, failure: 'undelivered', reason }
  const ordinal = Number(/\.(\d{1,4})$/.exec(reference)?.[1] ?? Number.NaN)
  const waitMs = (meaning.ofMessage ? MESSAGE_WAITS_MS : CARRIER_WAITS_MS)[ordinal - 1]
  if (waitMs === undefined) return { type: 'failed', answer, failure: 'undelivered', reason, facts: { dead: true } }
  return { type: 'again', answer, reason, delayMs: Math.max(waitMs, meaning.waitMs ?? 0) }
}

function readReply(message: Incoming): CarrierReply | null {
  const from = textOf(message.from)
  const text = replyText(message)
  const isReaction = message.type === 'reaction'
  const inReplyTo = (isReaction ? textOf(message.reaction?.message_id) : quotedBy(message)) || null
  // A person may hide their number: the quoted message identifies them. A reaction is about its message and about no other one.
  const isFromNumber = /^\d{8,15}$/.test(from) && !isReaction
  if ((!isFromNumber && inReplyTo === null) || text === null) return null
  return {
    kind: 'reply',
    from: isFromNumber ? numberForms(from) : [],
    text: clean(text),
    id: textOf(message.id) || null,
    inReplyTo,
    at: timeOf(message.timestamp),
  }
}

/** The message that a person quotes; '': none. A person who quotes their own words does not name a message of ours. */
const quotedBy = ({ from, context }: Incoming): string => (isSelf(from, context) ? '' : textOf(context?.id))
const isSelf = (from: unknown, context: Incoming['context']): boolean => textOf(from) !== '' && context?.from === from

/** A person's text may hold characters that PostgreSQL does not store. */
const clean = (text: string): string => cutText(text, 10_000)
const textOf = (value: unknown): string => (typeof value === 'string' ? clean(value) : '')
const listOf = <T>(value: readonly T[] | undefined): readonly T[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'object' && item !== null) : []

/** Unix seconds, as text. */
const timeOf = (value: unknown): Date | null =>
  typeof value === 'string' && /^\d{9,11}$/.test(value) ? new Date(Number(value) * 1_000) : null
