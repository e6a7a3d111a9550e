import { readRetryAfter } from '../domain/delivery/retry-after.js'
import { nextDelay, type RetryPlan } from '../domain/webhook.js'
import { recordAudit } from '../store/audit.js'
import { groupTransaction, type Pool, type Queryable } from '../store/postgres.js'
import {
  type HealthReport,
  type HealthRules,
  type LockedEndpoints,
  lockEndpoints,
  recordHealth,
} from '../store/webhook/endpoints.js'
import { makeMessagesDue, type Settlement, settleMessages, type WebhookClaim } from '../store/webhook/queue.js'
import type { Reply } from './outbound.js'

/** What the post of a message to its endpoint means for the message and for the endpoint. */
export interface PostOutcome {
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
  reply: Reply | Error,
  timing: { at: Date; durationMs: number },
  { plan, random }: OutcomeRules,
): PostOutcome {
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
      message: claim.id,
      attempt: claim.attempt,
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

/** The outcome of a message whose event was erased. The endpoint was not called, so its health does not change. */
export function erasedOutcome(claim: WebhookClaim, at: Date, rules: OutcomeRules): PostOutcome {
  const reason = new Error('Os dados deste evento foram apagados; não há o que enviar.')
  const failure = judgeReply(claim, reason, { at, durationMs: 0 }, rules)
  const settlement = { ...failure.settlement, state: 'dead' as const, delayMs: null }
  return { ...failure, posted: false, changesHealth: false, settlement }
}

/** The outcome of a message that cannot be signed. Its endpoint counts as failing, so that its other messages wait. */
export function unsignedOutcome(claim: WebhookClaim, at: Date, rules: OutcomeRules): PostOutcome {
  const reason = new Error('O segredo deste webhook não abre com a chave mestra deste servidor. Gere outro segredo para ele.')
  return { ...judgeReply(claim, reason, { at, durationMs: 0 }, rules), posted: false }
}

/** The outcome of a message that has no body, because its body cannot be made. That is no fault of its endpoint: other messages go on. */
export function unrenderedOutcome(claim: WebhookClaim, at: Date, rules: OutcomeRules): PostOutcome {
  const reason = new Error('O corpo deste aviso não pôde ser montado; o motivo está no registro do servidor.')
  return { ...judgeReply(claim, reason, { at, durationMs: 0 }, rules), posted: false, changesHealth: false }
}

function explainStatus(status: number): string {
  if (status >= 300 && status < 400) return `O servidor respondeu ${status}: redirecionamentos não são seguidos. Corrija a url.`
  return status === 410
    ? 'O servidor respondeu 410: o webhook foi desativado.'
    : `O servidor respondeu ${status}; só 2xx conta como recebido.`
}

/** Of the headers of the same head, which many responses share. */
const shownHeaders = new WeakMap<Readonly<Record<string, string>>, string>()

/** The HTTP parser refuses NUL in headers, so PostgreSQL can store the text. */
function showHeaders(headers: Readonly<Record<string, string>>): string {
  const known = shownHeaders.get(headers)
  if (known !== undefined) return known
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${HIDDEN_HEADERS.has(name) ? '***' : value}`)
  const shown = lines.join('\n').slice(0, MAX_HEADERS_CHARACTERS)
  shownHeaders.set(headers, shown)
  return shown
}

/** PostgreSQL cannot store a NUL, and a cut body may end with half a character. */
const showBody = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '\ufffd').toWellFormed()

/**
 * Writes the outcomes of many attempts and the health of their endpoints atomically. The outcomes of an endpoint that another
 * transaction holds are left out: the endpoint is in `busy`.
 */
export const writeOutcomes = (pool: Pool, outcomes: readonly PostOutcome[], rules: HealthRules) => {
  const changing = [...new Set(outcomes.filter(({ changesHealth }) => changesHealth).map(({ endpoint }) => endpoint))]
  // Most outcomes do not change an endpoint's health; then one statement is enough.
  if (changing.length === 0) return write(pool, outcomes, rules, { urls: new Map(), busy: new Set() })
  return groupTransaction(pool, async db => write(db, outcomes, rules, await lockEndpoints(db, changing)))
}

/** Returns the messages that the worker no longer held, and the endpoints that these outcomes disabled. */
async function write(db: Queryable, outcomes: readonly PostOutcome[], rules: HealthRules, { urls, busy }: LockedEndpoints) {
  const free = outcomes.filter(({ endpoint }) => !busy.has(endpoint))
  /** The reply of a former URL says nothing about the one that its endpoint has now. */
  const isCurrent = ({ endpoint, settlement }: PostOutcome): boolean => urls.get(endpoint) === settlement.url
  const lost = await settleMessages(
    db,
    free.map(outcome => (outcome.gone && !isCurrent(outcome) ? toNewUrl(outcome.settlement) : outcome.settlement)),
  )
  // A worker that lost its lease must not change the endpoint's health either.
  const reports = summarise(free.filter(outcome => !lost.has(outcome.settlement.message) && isCurrent(outcome)))
  const changes = reports.length === 0 ? [] : await recordHealth(db, reports, rules)
  const recovered = changes.filter(change => change.recovered).map(change => change.endpoint)
  if (recovered.length > 0) await makeMessagesDue(db, recovered)
  const suspended = changes.filter(change => change.suspended !== null)
  for (const { endpoint, account, suspended: reason } of suspended)
    await recordAudit(db, { actor: 'worker', action: 'webhook suspend', subject: endpoint, detail: { account, reason } })
  return { lost, suspended, busy }
}

/** A former URL answered that it is gone: the endpoint goes on, and so does the message. */
const toNewUrl = (settlement: Settlement): Settlement => ({
  ...settlement,
  state: 'queued',
  delayMs: 0,
  error: 'O servidor respondeu 410 no endereço que o webhook tinha antes; o aviso vai ao novo.',
})

/** One report per endpoint whose health changes. A single success among failures means that the endpoint works. */
function summarise(outcomes: readonly PostOutcome[]): HealthReport[] {
  const reports = new Map<string, HealthReport & { changes: boolean }>()
  for (const { endpoint, succeeded, gone, pauseMs, changesHealth } of outcomes) {
    const report = reports.get(endpoint) ?? { endpoint, succeeded: false, failed: 0, pauseMs: 0, gone: false, changes: false }
    report.succeeded ||= succeeded
    report.failed += succeeded || !changesHealth ? 0 : 1
    report.pauseMs = Math.max(report.pauseMs, pauseMs)
    report.gone ||= gone
    report.changes ||= changesHealth
    reports.set(endpoint, report)
  }
  return [...reports.values()].filter(({ changes }) => changes).map(({ changes: _, ...report }) => report)
}
