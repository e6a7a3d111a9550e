import { randomUUID } from 'node:crypto'
import type { Keys } from '../../domain/access/keys.js'
import type { Clock } from '../../domain/clock.js'
import { Refusal } from '../../domain/errors.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../domain/units.js'
import { RETRY_PLAN, type RetryPlan } from '../../domain/webhook.js'
import { type Busy, repeatWhileBusy } from '../../engine/record/busy.js'
import { retryWhileUnavailable, submitTo } from '../../engine/record/recorder.js'
import { engineTiming } from '../../engine/timing.js'
import type { Chore } from '../../runtime/chores.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { QueueFront } from '../../runtime/queue-front.js'
import { doAll, isItemFault, isLocked, isTooSlow, type Pool, transaction } from '../../store/postgres.js'
import { pruneAttempts } from '../../store/webhook/attempts.js'
import { deleteUnusedListeners, type HealthRules, removeDeletedEndpoints } from '../../store/webhook/endpoints.js'
import {
  abandonMessages,
  endExpiredLeases,
  endLeases,
  findExpiredLeases,
  releaseMessages,
  renewLeases,
} from '../../store/webhook/leases.js'
import { pruneMessages } from '../../store/webhook/messages.js'
import { claimMessages, findFront } from '../../store/webhook/queue.js'
import { Deliverer, type DelivererOptions } from '../../webhooks/deliverer.js'
import { openSecrets } from '../../webhooks/endpoints.js'
import type { ResolveName } from '../../webhooks/name-lookup.js'
import { openOutbound } from '../../webhooks/outbound.js'
import { type PostOutcome, writeOutcomes } from '../../webhooks/outcome.js'
import { renderBodies, type WebhookFormat } from '../../webhooks/payload.js'
import type { Config } from '../config.js'
import type { Log } from '../log.js'
import { targetRules } from '../webhook-rules.js'

/**
 * The limits of one endpoint in a worker: connections, and held messages, enough that a quick endpoint does not wait for a claim. With 512 it
 * waited for a tenth of the time, with 1,024 for a fortieth.
 */
const MAX_IN_FLIGHT = 16
const MAX_HELD = 1_024
const TIMEOUT_MS = 15 * SECOND_MS
/** Outcomes of this long are written together. A crash makes the deliveries of that time happen twice, which are few. */
const GATHER_MS = 15
const HEALTH: HealthRules = {
  failuresToPause: 5,
  maxPauseMs: MINUTE_MS,
  suspendAfterMs: 5 * DAY_MS,
  quietMs: 1.5 * Math.max(...RETRY_PLAN.delaysMs),
}
const UNUSED_LISTENER_MS = DAY_MS
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
  /** Shorter times for drills and benchmarks. */
  timing?: { plan?: RetryPlan; maxPauseMs?: number; timeoutMs?: number }
  trace?: DelivererOptions['trace']
  /** Replaces the system's name lookup. */
  resolve?: ResolveName
}

export function startDeliverer(parts: WebhookWorkerParts): Deliverer {
  const { config, format, keys, pool, clock, log, leaseMs, onError, timing, trace, resolve } = parts
  const health = { ...HEALTH, maxPauseMs: timing?.maxPauseMs ?? HEALTH.maxPauseMs }
  const reports = new GroupCommit<PostOutcome, boolean | Busy>({
    write: async outcomes => {
      // A group that takes too long is halved, and its last halves are written again: an outcome that is lost means another post.
      const isWorthRepeating = (error: unknown): boolean => (outcomes.length === 1 ? !isLocked(error) : !isTooSlow(error))
      const { lost, suspended, busy } = await retryWhileUnavailable(
        () => writeOutcomes(pool, outcomes, health),
        engineTiming,
        isWorthRepeating,
      )
      for (const { endpoint, account, suspended: reason } of suspended) {
        log.error({ endpoint, account, reason }, 'a webhook endpoint was switched off')
      }
      return outcomes.map(({ endpoint, settlement }) => (busy.has(endpoint) ? 'busy' : !lost.has(settlement.message)))
    },
    isItemFault,
    maxItems: 512,
    // One at a time: the outcomes that wait make the next group larger, and no delivery waits for them.
    parallel: 1,
    gatherMs: GATHER_MS,
    maxWaiting: 100_000,
    overloaded: () => new Refusal('overloaded', [], { retryAfter: 1 }),
  })
  const front = new QueueFront({
    find: from => findFront(pool, HEALTH.failuresToPause, from),
    onError: error => onError(error, 'the front of the webhooks'),
  })
  const owner = randomUUID()
  const deliverer = new Deliverer({
    clock,
    leaseMs,
    maxInFlight: MAX_IN_FLIGHT,
    maxHeld: MAX_HELD,
    rules: { plan: timing?.plan ?? RETRY_PLAN, random: Math.random },
    failuresToPause: HEALTH.failuresToPause,
    outbound: openOutbound({ ...targetRules(config), timeoutMs: timing?.timeoutMs ?? TIMEOUT_MS, resolve }),
    claim: question => front.claim(from => transaction(pool, db => claimMessages(db, { ...question, owner, from }))),
    render: claims => renderBodies(pool, format, claims),
    unseal: claim => openSecrets(keys.sealing, claim.endpoint, claim.secrets),
    report: outcome => repeatWhileBusy(() => submitTo(reports, outcome)),
    release: claims => releaseMessages(pool, owner, claims),
    abandon: claims => abandonMessages(pool, owner, claims),
    renew: leases => renewLeases(pool, owner, leases, leaseMs),
    end: leases => endLeases(pool, owner, leases),
    onError,
    ...(trace === undefined ? {} : { trace }),
  })
  deliverer.start()
  return deliverer
}

export const webhookChores = (config: Config, pool: Pool): Chore[] => [
  { name: 'interrupted webhooks', everyMs: 5 * SECOND_MS, run: reaperOf(pool) },
  { name: 'old webhooks', everyMs: HOUR_MS, oneNode: true, run: () => prune(pool, config.webhooks.days) },
]

/** A search that found nothing need not be made again. What ended in the last minute is looked at again: a lease may be written while it is. */
const SEARCHED_AGAIN_MS = MINUTE_MS
const MOST_TURNS = 100

/** Ends the leases of dead workers, a few in each turn, so that claims go on in between. */
export function reaperOf(pool: Pool): () => Promise<void> {
  let since: Date | null = null
  return async () => {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const { at, leases } = await findExpiredLeases(pool, since)
      if (leases.length === 0) {
        since = new Date(at.getTime() - SEARCHED_AGAIN_MS)
        return
      }
      const reason = 'O processo que fazia esta entrega foi interrompido; ela será repetida.'
      await transaction(pool, db => endExpiredLeases(db, leases, reason))
    }
  }
}

async function prune(pool: Pool, days: number): Promise<void> {
  const pieces = [
    () => deleteUnusedListeners(pool, UNUSED_LISTENER_MS),
    async () => {
      while ((await pruneMessages(pool, days, PRUNE_BATCH)) === PRUNE_BATCH);
    },
    async () => {
      while ((await pruneAttempts(pool, days, PRUNE_BATCH)) === PRUNE_BATCH);
    },
    () => removeDeletedEndpoints(pool),
  ]
  await doAll(pieces, piece => piece())
}
