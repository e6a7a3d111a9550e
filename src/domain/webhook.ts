import type { FactType } from './delivery/transition.js'
import type { HmacKey } from './hmac-key.js'
import { HOUR_MS, MINUTE_MS } from './units.js'

/** The facts that webhooks announce. */
const announcedFacts = [
  'processed',
  'prepared',
  'sent',
  'delivered',
  'read',
  'confirmed',
  'link opened',
  'answered',
  'recorded',
  'failed',
  'cancelled',
  'uncertain',
  'revived',
] as const satisfies FactType[]
export type AnnouncedFact = (typeof announcedFacts)[number]

export const isAnnounced = (type: string): type is AnnouncedFact => announcedFacts.includes(type as AnnouncedFact)

export const payloadVersions = ['v1', 'v2'] as const
export type PayloadVersion = (typeof payloadVersions)[number]
/** What existing clients read, unless an endpoint asks for another version. */
export const DEFAULT_PAYLOAD_VERSION: PayloadVersion = 'v1'

export const SECRET_BYTES = 32

/** whsec_ and the key in base64: the form that every library of the standard reads. */
export const showSecret = (secret: Buffer): string => `whsec_${secret.toString('base64')}`

/** The key of a text that showSecret wrote; null: the text is no secret. */
export function readSecret(text: string): Buffer | null {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(text) ?? []
  return encoded === undefined ? null : Buffer.from(encoded, 'base64')
}

/** The headers by which a receiver verifies a message (Standard Webhooks). */
export const signedHeaders = (keys: readonly HmacKey[], id: string, atMs: number, body: string) => {
  const seconds = Math.floor(atMs / 1_000)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': sign(keys, `${id}.${seconds}.${body}`),
  }
}

/** One `v1,` for each secret that is valid now. */
const sign = (keys: readonly HmacKey[], text: string): string => keys.map(key => `v1,${key.sign(text)}`).join(' ')

/**
 * `delaysMs` are the waits before the second try, the third …; `laterMs` is the wait once they are used up but the time of the whole
 * plan is not (an endpoint that came back early takes tries early).
 */
export type RetryPlan = { delaysMs: readonly number[]; laterMs: number }

export const RETRY_PLAN: RetryPlan = {
  delaysMs: [
    5_000,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    14 * HOUR_MS,
    20 * HOUR_MS,
    24 * HOUR_MS,
  ],
  laterMs: 2 * HOUR_MS,
}

const JITTER = 0.2

/** How long to wait after a failed try, or null when there is no further one. */
export function nextDelay(plan: RetryPlan, tries: number, ageMs: number, random: () => number): number | null {
  const wholeMs = plan.delaysMs.reduce((sum, delay) => sum + delay, 0)
  // The last try may come earlier than planned by the jitter of all the waits before it.
  const planned = plan.delaysMs[tries - 1] ?? (ageMs < wholeMs * (1 - JITTER) ? plan.laterMs : null)
  return planned === null ? null : Math.round(planned * (1 - JITTER + random() * 2 * JITTER))
}
