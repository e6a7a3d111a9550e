import type { Channel, ChannelStatuses, Situation } from './types.js'

/** A change of one channel of one notification, in the format v2. */
export type WebhookEvent = {
  [channel in Channel]: {
    eventVersion: '2.0'
    /** ISO 8601, in Brasília time. */
    occurredAt: string
    notificationID: string
    customID: string | null
    channel: channel
    status: Situation | 'teste'
    statusTimestamp: string
    /** The status record, as the lookup gave it right after this event. */
    payload: ChannelStatuses[channel]
    metadata: { webhookVersion: 'v2'; attempt: number }
  }
}[Channel]

/** The format v1, which endpoints made without a version get. Dates are dd/MM/yyyy HH:mm:ss, in Brasília time. */
export interface WebhookEventV1 {
  notificationID: string
  channel: Channel
  description: string
  dateSent: string | null
  dateDelivery: string | null
  dateRead: string | null
  logDate: string
}

/** Headers of a request, in whichever form the server has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How far the clocks may be apart. Default: 5 minutes. */
  toleranceMs?: number
  now?: () => number
}

/** The request is not from the gateway, or is too old. Answer it with 401. */
export class WebhookError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookError'
  }
}

/**
 * Checks the signature over the **raw** body and returns the event. `secret`: the endpoint's `segredo` (whsec_…); several while one
 * replaces another. Deliveries repeat: keep the header `webhook-id` of what you have processed.
 */
export async function verifyWebhook<Event = WebhookEvent>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceMs = 300_000, now = Date.now }: VerifyOptions = {},
): Promise<Event> {
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(name => readHeader(headers, name))
  if (id === undefined || time === undefined || signatures === undefined)
    throw new WebhookError('The headers webhook-id, webhook-timestamp and webhook-signature are missing.')
  if (!/^\d{1,12}$/.test(time) || Math.abs(now() - Number(time) * 1000) > toleranceMs)
    throw new WebhookError('The request is too old, or from the future: check the clocks.')
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = concat(new TextEncoder().encode(`${id}.${time}.`), bytes)
  const given = signatures.split(' ').flatMap(entry => (entry.startsWith('v1,') ? [entry.slice(3)] : []))
  for (const one of typeof secret === 'string' ? [secret] : secret) {
    const key = await crypto.subtle.importKey('raw', fromBase64(one.replace(/^whsec_/, '')), HMAC, false, ['verify'])
    for (const signature of given) {
      const candidate = tryBase64(signature)
      // The comparison of subtle.verify takes the same time whatever the bytes.
      if (candidate !== null && (await crypto.subtle.verify('HMAC', key, candidate, signed)))
        return JSON.parse(new TextDecoder().decode(bytes)) as Event
    }
  }
  throw new WebhookError('The signature is not that of this body and secret. Use the raw body, before any parsing.')
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'object' ? found[0] : found
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), char => char.charCodeAt(0))

function tryBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return fromBase64(text)
  } catch {
    return null
  }
}
