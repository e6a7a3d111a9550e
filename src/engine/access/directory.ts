import { type AddressRange, parseRange } from '../../domain/access/address-range.js'
import type { Clock } from '../../domain/clock.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import type { Grant } from '../../store/accounts/tokens.js'

export interface DirectoryStore {
  readRevision(): Promise<{ revision: number; nowMs: number }>
  findGrant(jti: string): Promise<Grant | null>
  isRegistered(address: string): Promise<boolean>
}

export interface Caller extends Omit<Grant, 'ranges'> {
  ranges: readonly AddressRange[]
}

const POLL_MS = 400
/** The cache is used only if the last poll started within this time. With the query's own time this stays below one second. */
const MAX_AGE_MS = 900
/** After this time no node uses what it knew before a change. */
export const KNOWN_EVERYWHERE_MS = 1_000
const MAX_CACHED = 20_000

/**
 * Caches accounts, tokens and addresses, and follows the database's clock. A small poll reads the revision: a new revision clears
 * the cache, and a late poll makes the cache unused. So a revocation is effective on every node within a second, and a request
 * needs no query. The plan of a send must not be a moment old: it is compared where it is written (engine/accept).
 */
export class Directory {
  readonly #store: DirectoryStore
  readonly #callers = new BoundedCache<string, Promise<Caller | null>>({ maxEntries: MAX_CACHED })
  readonly #registered = new BoundedCache<string, Promise<boolean>>({ maxEntries: MAX_CACHED })
  #revision = -1
  #confirmedAt = Number.NEGATIVE_INFINITY
  #anchor = { databaseMs: Date.now(), monotonicMs: performance.now() }
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined

  constructor(store: DirectoryStore) {
    this.#store = store
  }

  async open(): Promise<void> {
    await this.#poll()
    this.#timer = setInterval(() => this.#poll().catch(() => {}), POLL_MS)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** The database's time, which does not follow jumps of this machine's clock. */
  readonly clock: Clock = () => Math.round(this.#anchor.databaseMs + (performance.now() - this.#anchor.monotonicMs))

  /** The holder of the token, or null when the token is unknown, revoked or expired. */
  async findCaller(jti: string): Promise<Caller | null> {
    await this.#ensureCurrent()
    return cached(this.#callers, jti, async () => {
      const grant = await this.#store.findGrant(jti)
      return grant && { ...grant, ranges: grant.ranges.map(parseRange) }
    })
  }

  /** The same as the database has it now, for a caller of an account that was edited after it was cached. */
  async findCurrentCaller(jti: string): Promise<Caller | null> {
    // A poll that is under way may have read the revision before the edit.
    await this.#polling?.catch(() => {})
    await this.#poll()
    return this.findCaller(jti)
  }

  /** Whether any account registered the address. */
  async isRegistered(address: string): Promise<boolean> {
    await this.#ensureCurrent()
    return cached(this.#registered, address, () => this.#store.isRegistered(address))
  }

  async #ensureCurrent(): Promise<void> {
    if (performance.now() - this.#confirmedAt > MAX_AGE_MS) await this.#poll()
  }

  #poll(): Promise<void> {
    this.#polling ??= this.#readRevision().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async #readRevision(): Promise<void> {
    const startedAt = performance.now()
    const { revision, nowMs } = await this.#store.readRevision()
    if (revision !== this.#revision) {
      this.#callers.clear()
      this.#registered.clear()
      this.#revision = revision
    }
    this.#confirmedAt = startedAt
    // The database read its clock at an unknown moment of the round trip; the middle is the best estimate.
    this.#anchor = { databaseMs: nowMs, monotonicMs: (startedAt + performance.now()) / 2 }
  }
}

/** Concurrent lookups of a key share one query. Failures are not cached. */
function cached<T>(known: BoundedCache<string, Promise<T>>, key: string, load: () => Promise<T>): Promise<T> {
  const hit = known.get(key)
  if (hit !== undefined) return hit
  const loading = load()
  known.set(key, loading)
  loading.catch(() => known.delete(key))
  return loading
}
