import { BoundedCache } from '../../runtime/bounded-cache.js'
import type { Lease } from '../../store/accounts/rate-windows.js'

export interface Verdict {
  allowed: boolean
  limit: number
  remaining: number
  /** Seconds until the window ends. */
  resetSeconds: number
}

export type LeaseFunction = (key: string, limit: number, chunk: number) => Promise<Lease>

interface Window {
  limit: number
  /** Leased and not spent. */
  held: number
  /** Left in the shared budget at the last lease. */
  left: number
  endsAt: number
  leasing: Promise<void> | undefined
}

const CHUNKS = 40
const MAX_WINDOWS = 50_000

/**
 * Request budgets per minute, shared by all nodes. Each node leases chunks in advance and counts them down in memory, so a
 * request needs no query. A request is never granted twice. Each node may leave one and a half chunks unused, less than
 * 4 % of the budget: it leases the next chunk when half of the last one is left.
 */
export class Budgets {
  readonly #lease: LeaseFunction
  readonly #windows = new BoundedCache<string, Window>({ maxEntries: MAX_WINDOWS })

  constructor(lease: LeaseFunction) {
    this.#lease = lease
  }

  /** Takes one request from a budget. Returns a promise only when a chunk must be leased first. */
  spend(key: string, limit: number): Verdict | Promise<Verdict> {
    const now = performance.now()
    let window = this.#windows.get(key)
    if (window === undefined || now >= window.endsAt || window.limit !== limit) {
      // The first lease sets the end of the window, which is unknown until then.
      window = { limit, held: 0, left: limit, endsAt: Number.POSITIVE_INFINITY, leasing: undefined }
      this.#windows.set(key, window)
    }
    if (window.held > 0) {
      window.held--
      if (window.held < chunkOf(limit) / 2 && window.left > 0) this.#refill(key, window).catch(() => {})
      return verdict(window, true, now)
    }
    if (window.left <= 0) return verdict(window, false, now)
    return this.#refill(key, window).then(() => this.spend(key, limit))
  }

  #refill(key: string, window: Window): Promise<void> {
    window.leasing ??= this.#leaseChunk(key, window).finally(() => {
      window.leasing = undefined
    })
    return window.leasing
  }

  async #leaseChunk(key: string, window: Window): Promise<void> {
    const lease = await this.#lease(key, window.limit, chunkOf(window.limit))
    const endsAt = performance.now() + lease.remainingMs
    // A lease from the next window invalidates what is left of the last one.
    if (endsAt > window.endsAt + 1_000) window.held = 0
    window.held += lease.granted
    window.left = Math.max(0, window.limit - lease.used)
    window.endsAt = endsAt
  }
}

const chunkOf = (limit: number): number => Math.max(1, Math.floor(limit / CHUNKS))

const verdict = (window: Window, allowed: boolean, now: number): Verdict => ({
  allowed,
  limit: window.limit,
  remaining: Math.max(0, window.held + window.left),
  resetSeconds: Math.max(1, Math.ceil(Math.min(60_000, window.endsAt - now) / 1000)),
})
