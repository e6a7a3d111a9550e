import { readRetryAfter } from '../domain/retry-after.js'
import { nextDelay, type RetryPlan } from '../domain/webhook.js'
import type { MessageFence, Settlement, WebhookClaim } from '../store/webhook-queue.js'
import type { Reply } from './outbound.js'

/** What an answer means for the message and for its endpoint. */
export interface AttemptOutcome {
  endpoint: string
  succeeded: boolean
  gone: boolean
  /** What the endpoint asked for with Retry-After. */
  pauseMs: number
  /** Whether the endpoint was called at all. */
  posted: boolean
  /** Whether the endpoint's health has to be written: it fails, or it did. */
  changesHealth: boolean
  settlement: Settlement
}

export interface OutcomeRules {
  plan: RetryPlan
  random(): number
}

const MAX_HEADERS_CHARACTERS = 2_048
/** Of the endpoint's own sessions: nobody who repairs a webhook needs them. */
const HIDDEN_HEADERS = new Set(['set-cookie', 'authorization', 'proxy-authenticate', 'www-authenticate'])

export function judgeReply(
  claim: WebhookClaim,
  fence: MessageFence,
  reply: Reply | Error,
  timing: { at: Date; durationMs: number },
  { plan, random }: OutcomeRules,
): AttemptOutcome {
  const answered = reply instanceof Error ? null : reply
  const status = answered?.status ?? null
  const succeeded = status !== null && status >= 200 && status < 300
  const gone = status === 410
  const retryAfterMs = succeeded ? null : readRetryAfter(answered?.headers['retry-after'], timing.at.getTime())
  const delayMs = succeeded || gone ? null : nextDelay(plan, claim.tries, claim.ageMs, random)
  return {
    endpoint: claim.endpoint,
    succeeded,
    gone,
    pauseMs: retryAfterMs ?? 0,
    posted: true,
    changesHealth: !succeeded || claim.troubled,
    // Member by member: this is done for every message, and to add members to a copy takes a hundred times as long.
    settlement: {
      message: fence.message,
      owner: fence.owner,
      attempt: fence.attempt,
      state: succeeded ? 'done' : delayMs === null ? 'dead' : 'queued',
      delayMs: delayMs === null ? null : Math.max(delayMs, retryAfterMs ?? 0),
      url: claim.url,
      version: claim.version,
      at: timing.at,
      durationMs: Math.round(timing.durationMs),
      status,
      error: succeeded ? null : reply instanceof Error ? reply.message : explainStatus(reply.status),
      responseHeaders: answered === null ? null : showHeaders(answered.headers),
      responseBody: answered === null ? null : showBody(answered.body),
    },
  }
}

/** A message whose event was erased: there is nothing to send, now or later. */
export const unsendable = (claim: WebhookClaim, fence: MessageFence, at: Date): AttemptOutcome => ({
  endpoint: claim.endpoint,
  // Says nothing about the endpoint, good or bad.
  succeeded: false,
  gone: false,
  pauseMs: 0,
  posted: false,
  changesHealth: false,
  settlement: {
    ...fence,
    state: 'dead',
    delayMs: null,
    url: claim.url,
    version: claim.version,
    at,
    durationMs: 0,
    status: null,
    error: 'Os dados deste evento foram apagados; não há o que enviar.',
    responseHeaders: null,
    responseBody: null,
  },
})

function explainStatus(status: number): string {
  if (status >= 300 && status < 400) return `O servidor respondeu ${status}: redirecionamentos não são seguidos. Corrija a url.`
  return status === 410
    ? 'O servidor respondeu 410: o webhook foi desativado.'
    : `O servidor respondeu ${status}; só 2xx conta como recebido.`
}

/** What the parser of HTTP lets through of a header is text that PostgreSQL takes. */
function showHeaders(headers: Record<string, string | string[]>): string {
  let shown = ''
  for (const name in headers) shown += `${shown === '' ? '' : '\n'}${name}: ${HIDDEN_HEADERS.has(name) ? '***' : headers[name]}`
  return shown.slice(0, MAX_HEADERS_CHARACTERS)
}

const showBody = (body: Buffer): string => (body.length === 0 ? '' : withoutNul(body.toString('utf8')))

/** PostgreSQL's text holds no NUL, and a cut may leave half a character. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()
