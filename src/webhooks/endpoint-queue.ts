import type { HmacKey } from '../domain/hmac-key.js'
import type { WebhookClaim } from '../store/webhook/queue.js'
import type { RenderedBody } from './payload.js'

export interface QueuedMessage {
  claim: WebhookClaim
  body: RenderedBody
  /** null: the endpoint's secret does not open. */
  keys: HmacKey[] | null
}

export interface QueueLimits {
  maxInFlight: number
  maxHeld: number
}

/** The capacity for an endpoint of unknown latency. */
export const initialCapacity = ({ maxInFlight, maxHeld }: QueueLimits): number => Math.min(maxHeld, 2 * maxInFlight)

/** The queue holds the messages that its endpoint answers within this time. More would take capacity from other endpoints. */
const READY_MS = 5_000

/** The messages of one endpoint in this worker: waiting, in flight, and those whose outcome is being written. */
export class EndpointQueue {
  readonly #limits: QueueLimits
  #latencyMs: number | null = null
  /** Whether a claim was requested since the last message was added. */
  #claimRequested = false
  readonly #waiting: QueuedMessage[] = []
  #inFlight = 0
  #reporting = 0
  /** Outcomes that pause the endpoint and are not committed yet. Until then nothing is sent or claimed. */
  pauses = 0
  /** Consecutive failures in this worker. */
  failures = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  /** How many messages to hold, fewer for a slow endpoint. */
  get capacity(): number {
    const { maxInFlight, maxHeld } = this.#limits
    if (this.pauses > 0) return 0
    if (this.#latencyMs === null) return initialCapacity(this.#limits)
    return Math.min(maxHeld, maxInFlight + Math.floor((maxInFlight * READY_MS) / Math.max(1, this.#latencyMs)))
  }

  /** Claims start when half of the messages are left, so that new ones arrive before the last one is sent. */
  shouldClaimMore(): boolean {
    if (this.#unanswered === 0) return true
    if (this.#claimRequested || this.#waiting.length > this.capacity >> 1) return false
    this.#claimRequested = true
    return true
  }

  get #unanswered(): number {
    return this.#waiting.length + this.#inFlight
  }

  /** The number that the next claim counts. For a failing endpoint it includes unwritten outcomes, because they may pause it. */
  get held(): number {
    return this.failures === 0 ? this.#unanswered : this.#unanswered + this.#reporting
  }

  add(message: QueuedMessage): void {
    this.#waiting.push(message)
    this.#claimRequested = false
  }

  /** The next message, unless the endpoint is paused or has enough messages in flight. */
  next(): QueuedMessage | undefined {
    if (this.pauses > 0 || this.#inFlight >= this.#limits.maxInFlight) return undefined
    const message = this.#waiting.shift()
    if (message !== undefined) this.#inFlight++
    return message
  }

  /** `latencyMs`: null when the endpoint was not called. */
  finishAttempt(latencyMs: number | null): void {
    this.#inFlight--
    this.#reporting++
    if (latencyMs !== null) this.#latencyMs = this.#latencyMs === null ? latencyMs : (7 * this.#latencyMs + latencyMs) / 8
  }

  /** Returns whether the queue is empty now. */
  finishWriting(): boolean {
    this.#reporting--
    return this.#unanswered + this.#reporting === 0
  }

  /** Removes and returns what is too much for an endpoint that has become slow: other workers may have room for it. */
  takeSurplus(): WebhookClaim[] {
    const most = 2 * this.capacity
    if (this.pauses > 0 || this.#waiting.length <= most) return []
    return this.#waiting.splice(most).map(({ claim }) => claim)
  }

  /** Removes and returns the waiting messages, or those that match. */
  clear(matches: (claim: WebhookClaim) => boolean = () => true): WebhookClaim[] {
    const messages = this.#waiting.splice(0)
    this.#waiting.push(...messages.filter(({ claim }) => !matches(claim)))
    return messages.map(({ claim }) => claim).filter(matches)
  }
}
