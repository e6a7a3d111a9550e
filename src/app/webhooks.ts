import type { ChannelContract, DocumentUrl } from '../channels/channel.js'
import { moduleOf } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import type { Clock } from '../domain/clock.js'
import { Refusal } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { isLoopbackHost, type TargetRules } from '../domain/target-address.js'
import { RETRY_PLAN, type RetryPlan } from '../domain/webhook.js'
import { retryWhileUnavailable } from '../engine/record/recorder.js'
import type { WebhookOptions } from '../http/gw/webhooks.js'
import { wireStatuses } from '../http/gw/wire.js'
import type { Chore } from '../runtime/chores.js'
import { GroupCommit } from '../runtime/group-commit.js'
import { isRowFault, type Pool } from '../store/postgres.js'
import { pruneAttempts, readEvents } from '../store/webhook/attempts.js'
import { deleteUnusedListeners, type HealthRules, listEndpoints, removeDeletedEndpoints } from '../store/webhook/endpoints.js'
import { pruneMessages } from '../store/webhook/messages.js'
import { claimMessages, reapMessages, releaseMessages, renewMessages, type WebhookClaim } from '../store/webhook/queue.js'
import { showAttempts } from '../webhooks/attempt-log.js'
import { Deliverer, type DelivererOptions } from '../webhooks/deliverer.js'
import {
  createEndpoint,
  createListener,
  type EndpointParts,
  editEndpoint,
  openSecrets,
  removeEndpoint,
  replayOne,
  replaySpan,
  requireEndpoint,
  rotateEndpoint,
  testEndpoint,
} from '../webhooks/endpoints.js'
import { createListening } from '../webhooks/listening.js'
import type { ResolveName } from '../webhooks/name-lookup.js'
import { openOutbound } from '../webhooks/outbound.js'
import type { AttemptOutcome } from '../webhooks/outcome.js'
import { writeOutcomes } from '../webhooks/outcome-writer.js'
import { renderBody, type WebhookFormat } from '../webhooks/payload.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

/** Webhooks composed: their routes for the api, their delivery and upkeep for the worker. */
export function webhookFormat(contracts: ReadonlyMap<Channel, ChannelContract>, documentUrl: DocumentUrl): WebhookFormat {
  return {
    channelOf: channel => moduleOf(channel).wire,
    statuses: wireStatuses,
    record: status => contracts.get(status.channel)!.status.from(status, documentUrl),
  }
}

export const targetRules = (config: Config): TargetRules => ({
  allowed: config.webhooks.allowedRanges,
  loopback: isDevelopment(config),
})

/**
 * Somebody's own machine, which nobody else reaches and no real message leaves. Anywhere else an account could read, through
 * its webhooks' answers, what other programs of the machine show to it alone.
 */
function isDevelopment({ simulator, hasCarriers, host, publicUrl }: Config): boolean {
  return simulator && !hasCarriers && isLoopbackHost(host) && isLoopbackHost(new URL(publicUrl).hostname)
}

export interface WebhookRouteParts {
  config: Config
  keys: Keys
  pool: Pool
  clock: Clock
  format: WebhookFormat
  isStopping(): boolean
}

export function webhookRoutes({ config, keys, pool, clock, format, isStopping }: WebhookRouteParts): WebhookOptions {
  const parts: EndpointParts = { pool, sealing: keys.sealing, rules: targetRules(config) }
  const listen = createListening({ pool, format, readEvents: ids => readEvents(pool, ids) })
  return {
    list: account => listEndpoints(pool, account),
    find: (account, id) => requireEndpoint(pool, account, id),
    create: (account, draft) => createEndpoint(parts, account, draft, clock()),
    edit: (account, id, changes) => editEndpoint(parts, account, id, changes),
    remove: (account, id) => removeEndpoint(parts, account, id),
    rotate: (account, id) => rotateEndpoint(parts, account, id),
    test: (account, id) => testEndpoint(parts, account, id, clock()),
    attempts: (account, id, question) => showAttempts(pool, format, account, id, question),
    replayOne: (account, id, message) => replayOne(parts, account, id, message),
    replaySpan: (account, id, span) => replaySpan(parts, account, id, span),
    now: clock,
    createListener: (account, draft) => createListener(parts, account, draft, clock()),
    listen: (account, id, question) =>
      listen(account, id, { ...question, isAborted: () => question.isAborted() || isStopping() }),
  }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** One endpoint's share of a worker: sixteen connections, and for a quick one enough messages ready that none waits for a claim. */
const MAX_IN_FLIGHT = 16
const MAX_HELD = 256
const TIMEOUT_MS = 15 * SECOND
/** Outcomes of this long are written together: what a crash has sent a second time is hardly more for it. */
const GATHER_MS = 15
const HEALTH: HealthRules = {
  failuresToPause: 5,
  maxPauseMs: MINUTE,
  suspendAfterMs: 5 * DAY,
  quietMs: 1.5 * Math.max(...RETRY_PLAN.delaysMs),
}
const UNUSED_LISTENER_MS = DAY
const PRUNE_BATCH = 5_000

export interface WebhookWorkerParts {
  config: Config
  format: WebhookFormat
  keys: Keys
  pool: Pool
  clock: Clock
  log: Log
  leaseMs: number
  onError(error: unknown, what: string): void
  /** Drills and benchmarks have less time than the world. */
  timing?: { plan?: RetryPlan; maxPauseMs?: number; timeoutMs?: number }
  trace?: DelivererOptions['trace']
  /** Instead of the system's names. */
  resolve?: ResolveName
}

export function startDeliverer(parts: WebhookWorkerParts): Deliverer {
  const { config, format, keys, pool, clock, log, leaseMs, onError, timing, trace, resolve } = parts
  const health = { ...HEALTH, maxPauseMs: timing?.maxPauseMs ?? HEALTH.maxPauseMs }
  const reports = new GroupCommit<AttemptOutcome, boolean>({
    write: async outcomes => {
      const { settled, suspended } = await retryWhileUnavailable(() => writeOutcomes(pool, outcomes, health))
      for (const { endpoint, account, suspended: reason } of suspended) {
        log.error({ endpoint, account, reason }, 'a webhook endpoint was switched off')
      }
      return outcomes.map(({ settlement }) => settled.has(settlement.message))
    },
    isItemFault: isRowFault,
    maxItems: 256,
    // One at a time: what waits for it makes the next one larger, and nothing is held up by it.
    parallel: 1,
    gatherMs: GATHER_MS,
    maxWaiting: 100_000,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
  })
  const deliverer = new Deliverer({
    clock,
    leaseMs,
    maxInFlight: MAX_IN_FLIGHT,
    maxHeld: MAX_HELD,
    rules: { plan: timing?.plan ?? RETRY_PLAN, random: Math.random },
    failuresToPause: HEALTH.failuresToPause,
    outbound: openOutbound({ ...targetRules(config), timeoutMs: timing?.timeoutMs ?? TIMEOUT_MS, resolve }),
    claim: question => claimMessages(pool, question),
    render: claims => renderClaims(pool, format, claims),
    unseal: claim => openSecrets(keys.sealing, claim.endpoint, claim.secrets),
    report: outcome => reports.submit(outcome),
    release: messages => releaseMessages(pool, messages),
    renew: messages => renewMessages(pool, messages, leaseMs),
    onError,
    ...(trace === undefined ? {} : { trace }),
  })
  deliverer.start()
  return deliverer
}

async function renderClaims(pool: Pool, format: WebhookFormat, claims: readonly WebhookClaim[]): Promise<(string | null)[]> {
  const events = await readEvents(pool, [...new Set(claims.map(claim => claim.notification))])
  return claims.map(claim => renderBody(claim, events.get(claim.notification) ?? [], claim.version, claim.attempt, format))
}

export const webhookChores = (config: Config, pool: Pool): Chore[] => [
  {
    name: 'interrupted webhooks',
    everyMs: 5 * SECOND,
    run: () => reapMessages(pool, 'O processo que fazia esta entrega foi interrompido; ela será repetida.'),
  },
  { name: 'old webhooks', everyMs: HOUR, run: () => prune(pool, config.webhooks.days) },
]

async function prune(pool: Pool, days: number): Promise<void> {
  await deleteUnusedListeners(pool, UNUSED_LISTENER_MS)
  while ((await pruneMessages(pool, days, PRUNE_BATCH)) === PRUNE_BATCH);
  while ((await pruneAttempts(pool, days, PRUNE_BATCH)) === PRUNE_BATCH);
  await removeDeletedEndpoints(pool)
}
