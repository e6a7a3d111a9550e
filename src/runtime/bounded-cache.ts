export interface BoundedCacheOptions<Value> {
  maxEntries: number
  /** How long an entry is kept after it was set; without it, until others need its room. */
  ttlMs?: number
  /** The weight of all entries together; `weigh` says how much one has. */
  maxWeight?: number
  weigh?(value: Value): number
  now?(): number
}

interface Entry<Value> {
  value: Value
  weight: number
  expiresAt: number
}

/** A map of bounded size. The entry that was not used for longest makes room for the next one. */
export class BoundedCache<Key, Value> {
  readonly #options: Required<BoundedCacheOptions<Value>>
  /** In the order of their last use: a Map keeps the order of insertion. */
  readonly #entries = new Map<Key, Entry<Value>>()
  #weight = 0

  constructor(options: BoundedCacheOptions<Value>) {
    const unbounded = Number.POSITIVE_INFINITY
    this.#options = { ttlMs: unbounded, maxWeight: unbounded, weigh: () => 0, now: () => performance.now(), ...options }
  }

  /** Entries that have not expired. Reads every entry: meant for small caches. */
  get size(): number {
    const now = this.#options.now()
    for (const [key, { expiresAt }] of this.#entries) if (expiresAt <= now) this.delete(key)
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.expiresAt <= this.#options.now()) {
      this.delete(key)
      return undefined
    }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** An entry that alone weighs more than the whole cache may is not kept. */
  set(key: Key, value: Value, ttlMs = this.#options.ttlMs): void {
    this.delete(key)
    const { maxEntries, maxWeight, weigh, now } = this.#options
    const weight = weigh(value)
    this.#entries.set(key, { value, weight, expiresAt: now() + ttlMs })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#weight <= maxWeight) break
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }
}
