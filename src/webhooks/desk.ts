import type { WebhookClaim } from '../store/webhook-queue.js'

/** What this worker holds for one endpoint: a few under way, the next ones ready behind them, and those whose outcome is being written. */
export interface Held {
  claim: WebhookClaim
  /** null: nothing left to tell. */
  body: string | null
  secrets: Buffer[]
}

export class Desk {
  readonly endpoint: string
  readonly #atOnce: number
  readonly #waiting: Held[] = []
  #flying = 0
  #reporting = 0
  /** Failures in a row seen here. */
  failures = 0

  constructor(endpoint: string, atOnce: number) {
    this.endpoint = endpoint
    this.#atOnce = atOnce
  }

  /** Still to be answered. */
  get open(): number {
    return this.#waiting.length + this.#flying
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get empty(): boolean {
    return this.open + this.#reporting === 0
  }

  add(message: Held): void {
    this.#waiting.push(message)
  }

  /** The next message that may go now. */
  next(): Held | undefined {
    if (this.#flying >= this.#atOnce) return undefined
    const message = this.#waiting.shift()
    if (message !== undefined) this.#flying++
    return message
  }

  landed(): void {
    this.#flying--
    this.#reporting++
  }

  reported(): void {
    this.#reporting--
  }

  /** Takes back what has not been tried. */
  clear(): WebhookClaim[] {
    return this.#waiting.splice(0).map(({ claim }) => claim)
  }
}
