import type { Clock } from '../domain/clock.js'
import { HmacKey } from '../domain/hmac-key.js'
import { scopeKey } from '../domain/scope.js'
import { MIB } from '../domain/units.js'
import { signedHeaders } from '../domain/webhook.js'
import { Wake } from '../runtime/wake.js'
import type { ClaimQuery, WebhookClaim } from '../store/webhook/queue.js'
import { EndpointQueue, initialCapacity, type QueuedMessage, type QueueLimits } from './endpoint-queue.js'
import { Leases } from './leases.js'
import type { Outbound, Reply } from './outbound.js'
import { erasedOutcome, judgeReply, type OutcomeRules, type PostOutcome, unrenderedOutcome, unsignedOutcome } from './outcome.js'
import type { RenderedBody } from './payload.js'

export interface DelivererOptions extends QueueLimits {
  clock: Clock
  leaseMs: number
  rules: OutcomeRules
  /** Consecutive failures after which an endpoint is paused. */
  failuresToPause: number
  outbound: Outbound
  claim(question: Omit<ClaimQuery, 'owner'>): Promise<WebhookClaim[]>
  /** The bodies of claimed messages, in their order. */
  render(claims: readonly WebhookClaim[]): Promise<RenderedBody[]>
  unseal(claim: WebhookClaim): Buffer[]
  report(outcome: PostOutcome): Promise<unknown>
  release(claims: readonly WebhookClaim[]): Promise<void>
  /** Leaves messages of which nobody knows the outcome to expire. */
  abandon(claims: readonly WebhookClaim[]): Promise<void>
  /** Returns the leases that are prolonged. */
  renew(leases: readonly number[]): Promise<Set<number>>
  end(leases: readonly number[]): Promise<void>
  onError(error: unknown, what: string): void
  /** Called at each step of a message, so that fault drills can interrupt the process there. */
  trace?(point: 'claimed' | 'posting' | 'answered' | 'reported'): void
}

const POLL_MS = 1_000
/** Messages in one claim, for all endpoints together. */
const BATCH = 512
/** Messages held by this process. The share of one account and mode is limited, so that its slow endpoints cannot fill the process. */
const MAX_HELD = 8_192
const MAX_HELD_PER_SCOPE = MAX_HELD / 4
/** Of the bodies that wait or are under way. Most have half a kilobyte; with many long answers of a person, one has a megabyte. */
const MAX_HELD_CHARACTERS = 64 * MIB

/**
 * Delivers webhook messages: claims due messages, posts them and reports the outcomes. It contains no SQL and holds no database
 * connection while an endpoint is called.
 */
export class Deliverer {
  readonly #options: DelivererOptions
  readonly #queues = new Map<string, EndpointQueue>()
  readonly #inFlight = new Map<QueuedMessage, Promise<void>>()
  readonly #held = new Set<WebhookClaim>()
  readonly #leases = new Leases()
  /** The length of each body that was made of what is held. */
  readonly #lengths = new WeakMap<WebhookClaim, number>()
  #heldCharacters = 0
  #leaseUntil = 0
  #renewing = false
  #stopping = false
  /** notify() was called during a claim. */
  #notified = false
  readonly #wake = new Wake()
  #loop: Promise<void> | undefined
  #renewal: NodeJS.Timeout | undefined

  constructor(options: DelivererOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop = this.#run()
    this.#renewal = setInterval(() => {
      if (this.#leases.areAllFinished || this.#renewing) return
      this.#renewing = true
      this.#renew()
        .catch(error => this.#options.onError(error, 'webhook lease renewal'))
        .finally(() => {
          this.#renewing = false
        })
    }, this.#options.leaseMs / 6)
  }

  /** Finishes the messages in flight and releases the waiting ones. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.notify()
    await this.#loop
    await this.#release([...this.#queues.values()].flatMap(queue => queue.clear()))
    await Promise.all(this.#inFlight.values())
    clearInterval(this.#renewal)
    const ended = this.#leases.takeEnded()
    if (ended.length > 0)
      await this.#options.end(ended).catch(error => this.#options.onError(error, 'webhook leases are left to expire'))
    await this.#options.outbound.close()
  }

  /** Wakes the claim loop. */
  notify(): void {
    this.#notified = true
    this.#wake.notify()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#notified = false
      const claimed = await this.#claim().catch(error => {
        this.#options.onError(error, 'webhook claim')
        return 0
      })
      if (claimed < BATCH && !this.#notified) await this.#wake.wait(POLL_MS)
    }
  }

  async #claim(): Promise<number> {
    const { claim, render, leaseMs, failuresToPause, onError, trace } = this.#options
    if (this.#held.size >= MAX_HELD || this.#heldCharacters >= MAX_HELD_CHARACTERS) return 0
    // The lease is counted from before the query, because the query may be slow.
    const until = performance.now() + leaseMs
    const ended = this.#leases.takeEnded()
    const question = { leaseMs, limit: BATCH, failuresToPause, ended, ...this.#capacities() }
    const claims = await claim(question).catch(error => {
      this.#leases.putBack(ended)
      throw error
    })
    if (claims.length === 0) return 0
    if (this.#leases.areAllFinished) this.#leaseUntil = until
    for (const message of claims) {
      this.#held.add(message)
      this.#leases.add(message)
    }
    const bodies = await render(claims).catch(async error => {
      onError(error, 'webhook bodies')
      await this.#release(claims)
      return null
    })
    if (bodies === null) return 0
    // Secrets are decrypted once per endpoint, because that takes longer than signing.
    const claimByEndpoint = new Map(claims.map(message => [message.endpoint, message]))
    const keysByEndpoint = new Map([...claimByEndpoint].map(([endpoint, message]) => [endpoint, this.#openKeys(message)]))
    const queues = new Set<EndpointQueue>()
    for (const [index, message] of claims.entries()) {
      trace?.('claimed')
      // The lease was lost while the bodies were rendered.
      if (!this.#held.has(message)) continue
      const body = bodies[index]!
      if (body instanceof Error) onError(body, `the body of webhook message ${message.id} cannot be made`)
      else this.#count(message, body?.length ?? 0)
      const queue = this.#queueOf(message.endpoint)
      queue.add({ claim: message, body, keys: keysByEndpoint.get(message.endpoint)! })
      queues.add(queue)
    }
    for (const queue of queues) this.#pump(queue)
    return claims.length
  }

  #capacities(): Pick<ClaimQuery, 'capacity' | 'endpoints' | 'perScope' | 'scopes'> {
    // Counted by endpoint first: to make the key of the scope for each message took 4 % of the processor time of a worker.
    const held = new Map<string, { claim: WebhookClaim; count: number }>()
    for (const claim of this.#held) {
      const known = held.get(claim.endpoint)
      if (known === undefined) held.set(claim.endpoint, { claim, count: 1 })
      else known.count++
    }
    const scopes = new Map<string, number>()
    for (const { claim, count } of held.values()) scopes.set(scopeKey(claim), (scopes.get(scopeKey(claim)) ?? 0) + count)
    const endpoints = new Map([...this.#queues].map(([endpoint, { held, capacity }]) => [endpoint, { held, capacity }]))
    return { capacity: initialCapacity(this.#options), endpoints, perScope: MAX_HELD_PER_SCOPE, scopes }
  }

  /** null: the secret cannot be decrypted. */
  #openKeys(claim: WebhookClaim): HmacKey[] | null {
    try {
      return this.#options.unseal(claim).map(secret => new HmacKey(secret))
    } catch (error) {
      this.#options.onError(error, `the secret of webhook ${claim.endpoint} does not open`)
      return null
    }
  }

  #queueOf(endpoint: string): EndpointQueue {
    const known = this.#queues.get(endpoint)
    if (known !== undefined) return known
    const queue = new EndpointQueue(this.#options)
    this.#queues.set(endpoint, queue)
    return queue
  }

  #pump(queue: EndpointQueue): void {
    for (let message = queue.next(); message !== undefined; message = queue.next()) {
      this.#inFlight.set(message, this.#finish(queue, message))
    }
  }

  /** Never rejects. It ends after this call: a message that was attempted waits for its outcome to be written. */
  async #finish(queue: EndpointQueue, message: QueuedMessage): Promise<void> {
    let isSettled: boolean
    try {
      isSettled = await this.#deliver(queue, message)
    } catch (error) {
      this.#options.onError(error, 'a webhook was interrupted')
      isSettled = await this.#abandon(message.claim)
    }
    this.#inFlight.delete(message)
    this.#forget(message.claim)
    this.#leases.finish(message.claim, isSettled)
    if (!queue.finishWriting()) return
    this.#queues.delete(message.claim.endpoint)
    // Later messages of the same notification may have waited for these.
    this.notify()
  }

  /** Returns whether the outcome is written; if not, the lease is over. */
  async #deliver(queue: EndpointQueue, message: QueuedMessage): Promise<boolean> {
    const { failuresToPause, trace, report } = this.#options
    let outcome: PostOutcome | null = null
    let pauses = false
    let surplus = Promise.resolve()
    try {
      outcome = await this.#attempt(message)
      if (outcome?.posted === true) {
        // The claim may be older than the failures that this success ends.
        outcome.changesHealth ||= queue.failures > 0
        queue.failures = outcome.succeeded ? 0 : queue.failures + 1
      }
      pauses = queue.failures >= failuresToPause || outcome?.gone === true || (outcome?.pauseMs ?? 0) > 0
      if (pauses) queue.pauses++
    } finally {
      // The next message is sent while the outcome of this one is written.
      queue.finishAttempt(outcome?.posted === true ? outcome.settlement.durationMs : null)
      this.#pump(queue)
      if (queue.shouldClaimMore()) this.notify()
      surplus = this.#release(queue.takeSurplus())
    }
    try {
      if (outcome !== null) await report(outcome)
    } finally {
      await surplus
      if (pauses) await this.#releaseWaiting(queue)
    }
    trace?.('reported')
    return outcome !== null
  }

  /**
   * Runs after the pause of the endpoint is committed, because another worker would claim the messages at once otherwise. A claim
   * may have added more messages in the meantime.
   */
  async #releaseWaiting(queue: EndpointQueue): Promise<void> {
    for (let untried = queue.clear(); untried.length > 0; untried = queue.clear()) await this.#release(untried)
    queue.pauses--
  }

  /** null: the lease expired and another worker may have the message. */
  async #attempt({ claim, body, keys }: QueuedMessage): Promise<PostOutcome | null> {
    const { clock, outbound, rules, trace } = this.#options
    // A process that was suspended for longer than its lease must not post a message that another worker has claimed.
    if (performance.now() >= this.#leaseUntil) return null
    const at = clock()
    if (body === null) return erasedOutcome(claim, new Date(at), rules)
    if (body instanceof Error) return unrenderedOutcome(claim, new Date(at), rules)
    if (keys === null) return unsignedOutcome(claim, new Date(at), rules)
    const signed = signedHeaders(keys, claim.id, at, body)
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Carteiro-Webhooks/1.0',
      'webhook-id': signed['webhook-id'],
      'webhook-timestamp': signed['webhook-timestamp'],
      'webhook-signature': signed['webhook-signature'],
    }
    trace?.('posting')
    const started = performance.now()
    const response = outbound.request('POST', claim.url, headers, body)
    let reply: Reply | Error
    try {
      reply = await response
    } catch (error) {
      reply = error as Error
    }
    trace?.('answered')
    return judgeReply(claim, reply, { at: new Date(at), durationMs: performance.now() - started }, rules)
  }

  /** Releases messages that were not attempted; they do not count as attempts. */
  async #release(untried: readonly WebhookClaim[]): Promise<void> {
    if (untried.length === 0) return
    for (const claim of untried) this.#forget(claim)
    let isReleased = true
    await this.#options.release(untried).catch(error => {
      isReleased = false
      this.#options.onError(error, 'webhooks are left to their lease')
    })
    for (const claim of untried) this.#leases.finish(claim, isReleased)
  }

  /** The message is claimed again when its lease expires. Returns whether that lease is its own, however long the others take. */
  async #abandon(claim: WebhookClaim): Promise<boolean> {
    return this.#options.abandon([claim]).then(
      () => true,
      error => {
        this.#options.onError(error, 'a webhook is left to the lease of others')
        return false
      },
    )
  }

  async #renew(): Promise<void> {
    const now = performance.now()
    // The leases have expired, so other workers may hold the waiting messages.
    if (now >= this.#leaseUntil) await this.#release([...this.#queues.values()].flatMap(queue => queue.clear()))
    const leases = this.#leases.open
    const renewed = await this.#options.renew(leases)
    // A slow renewal may arrive after a lease expired. Its messages must not be posted under the new one.
    const lost = new Set(leases.filter(lease => !renewed.has(lease)))
    if (lost.size > 0) {
      for (const claim of this.#held) if (lost.has(claim.lease)) this.#forget(claim)
      for (const queue of this.#queues.values()) queue.clear(claim => lost.has(claim.lease))
      this.#leases.lose(lost)
    }
    this.#leaseUntil = now + this.#options.leaseMs
  }

  #count(claim: WebhookClaim, length: number): void {
    this.#lengths.set(claim, length)
    this.#heldCharacters += length
  }

  #forget(claim: WebhookClaim): void {
    if (this.#held.delete(claim)) this.#heldCharacters -= this.#lengths.get(claim) ?? 0
  }
}
