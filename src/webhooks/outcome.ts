import { readRetryAfter } from '../domain/retry-after.js'
import { nextDelay, type RetryPlan } from '../domain/webhook.js'
import type { MessageFence, Settlement, WebhookClaim } from '../store/webhook/queue.js'
import type { Reply } from './outbound.js'

/** The effect of one attempt on the message and on its endpoint. */
export interface AttemptOutcome {
  endpoint: string
  succeeded: boolean
  gone: boolean
  /** The pause that the endpoint asked for with Retry-After. */
  pauseMs: number
  /** Whether the endpoint was called. */
  posted: boolean
  /** Whether the endpoint's health must be written, because it fails or failed before. */
  changesHealth: boolean
  settlement: Settlement
}

export interface OutcomeRules {
  plan: RetryPlan
  random(): number
}

const MAX_HEADERS_CHARACTERS = 2_048
/** Secrets of the endpoint's own sessions, which nobody needs to repair a webhook. */
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
  const delayMs = succeeded || gone ? null : nextDelay(plan, claim.attemptsSinceQueued, claim.ageMs, random)
  return {
    endpoint: claim.endpoint,
    succeeded,
    gone,
    pauseMs: retryAfterMs ?? 0,
    posted: true,
    changesHealth: !succeeded || claim.endpointFailing,
    // Written member by member, because adding members to a copy takes a hundred times as long for every message.
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

/** The outcome of a message whose event was erased, so that nothing can be sent. */
export const erasedOutcome = (claim: WebhookClaim, fence: MessageFence, at: Date): AttemptOutcome => ({
  endpoint: claim.endpoint,
  // posted and changesHealth are false: this outcome does not affect the endpoint's health.
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

/** The HTTP parser refuses NUL in headers, so PostgreSQL can store the text. */
function showHeaders(headers: Record<string, string | string[]>): string {
  let shown = ''
  for (const name in headers) shown += `${shown === '' ? '' : '\n'}${name}: ${HIDDEN_HEADERS.has(name) ? '***' : headers[name]}`
  return shown.slice(0, MAX_HEADERS_CHARACTERS)
}

const showBody = (body: Buffer): string => (body.length === 0 ? '' : withoutNul(body.toString('utf8')))

/** PostgreSQL cannot store a NUL, and a cut body may end with half a character. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()
