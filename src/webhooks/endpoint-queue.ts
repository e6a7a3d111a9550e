import type { KeyObject } from 'node:crypto'
import type { WebhookClaim } from '../store/webhook-queue.js'

/** What this worker holds for one endpoint: a few under way, the next ones ready behind them, and those whose outcome is being written. */
export interface Held {
  claim: WebhookClaim
  /** null: nothing left to tell. */
  body: string | null
  secrets: KeyObject[]
}

export interface DeskBounds {
  /** Under way at once. */
  atOnce: number
  /** Held at most. */
  perEndpoint: number
}

/** Held of an endpoint that has not answered yet: as many again as are under way. */
export const firstRoom = ({ atOnce, perEndpoint }: DeskBounds): number => Math.min(perEndpoint, 2 * atOnce)

/** What an endpoint gets through in this time is ready here; more would only keep others from this worker. */
const READY_MS = 5_000

export class Desk {
  readonly endpoint: string
  readonly #bounds: DeskBounds
  #latencyMs: number | null = null
  /** Whether more has been asked for since the last message came. */
  #asked = false
  readonly #waiting: Held[] = []
  #flying = 0
  #reporting = 0
  #rests = 0
  /** Failures in a row seen here. */
  failures = 0

  constructor(endpoint: string, bounds: DeskBounds) {
    this.endpoint = endpoint
    this.#bounds = bounds
  }

  /** Messages to hold here: fewer for an endpoint that is slow to answer. */
  get room(): number {
    const { atOnce, perEndpoint } = this.#bounds
    if (this.#rests > 0) return 0
    if (this.#latencyMs === null) return firstRoom(this.#bounds)
    return Math.min(perEndpoint, atOnce + Math.floor((atOnce * READY_MS) / Math.max(1, this.#latencyMs)))
  }

  /** Whether to claim more now: while half of them are still there, the next claim is back before the last one has gone. */
  asksForMore(): boolean {
    if (this.open === 0) return true
    if (this.#asked || this.#waiting.length > this.room >> 1) return false
    this.#asked = true
    return true
  }

  /** Still to be answered. */
  get open(): number {
    return this.#waiting.length + this.#flying
  }

  /** What the next claim has to count. Of an endpoint that fails, also what is not written down yet: before that it does not rest. */
  get held(): number {
    return this.failures === 0 ? this.open : this.open + this.#reporting
  }

  get empty(): boolean {
    return this.open + this.#reporting === 0
  }

  add(message: Held): void {
    this.#waiting.push(message)
    this.#asked = false
  }

  /** The next message that may go now. */
  next(): Held | undefined {
    if (this.#rests > 0 || this.#flying >= this.#bounds.atOnce) return undefined
    const message = this.#waiting.shift()
    if (message !== undefined) this.#flying++
    return message
  }

  /** How long it took: null where the endpoint was not called. */
  landed(tookMs: number | null): void {
    this.#flying--
    this.#reporting++
    if (tookMs !== null) this.#latencyMs = this.#latencyMs === null ? tookMs : (7 * this.#latencyMs + tookMs) / 8
  }

  reported(): void {
    this.#reporting--
  }

  /** From an answer that ends in a rest until that is written down: nothing goes meanwhile, and nothing more is taken. */
  rest(): void {
    this.#rests++
  }

  rested(): void {
    this.#rests--
  }

  /** Takes back what has not been tried: all of it, or what is picked out. */
  clear(isPicked: (claim: WebhookClaim) => boolean = () => true): WebhookClaim[] {
    const claims = this.#waiting.splice(0)
    this.#waiting.push(...claims.filter(({ claim }) => !isPicked(claim)))
    return claims.map(({ claim }) => claim).filter(isPicked)
  }
}
