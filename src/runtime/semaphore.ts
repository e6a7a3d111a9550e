export interface SemaphoreOptions {
  /** Held at once by all holders together: a count of them, or bytes. */
  permits: number
  /** Waiters at most. One more is refused at once; so is every waiter after `maxWaitMs`. */
  maxWaiting?: number
  maxWaitMs?: number
  /** Makes the error of a refusal. Required where there can be one. */
  refusal?(): Error
}

interface Waiter {
  weight: number
  grant(): void
}

/** Bounds what is held at once. Waiters are served in order of arrival; a request for more than all permits is granted alone. */
export class Semaphore {
  readonly #options: Required<SemaphoreOptions>
  readonly #waiters = new Set<Waiter>()
  #free: number

  constructor(options: SemaphoreOptions) {
    const refusal = (): Error => new Error('too many wait for a permit')
    const defaults = { maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs: 0, refusal }
    this.#options = { ...defaults, ...options }
    this.#free = options.permits
  }

  get idle(): boolean {
    return this.#free === this.#options.permits && this.#waiters.size === 0
  }

  /** null: granted at once. Rejects when it is refused, or with the signal's reason. */
  acquire(weight = 1, signal?: AbortSignal): Promise<void> | null {
    const { maxWaiting, refusal } = this.#options
    if (this.#waiters.size === 0 && this.#fits(weight)) {
      this.#free -= weight
      return null
    }
    if (signal?.aborted) return Promise.reject(signal.reason)
    return this.#waiters.size >= maxWaiting ? Promise.reject(refusal()) : this.#wait(weight, signal)
  }

  release(weight = 1): void {
    this.#free += weight
    this.#serve()
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const waiting = this.acquire()
    if (waiting !== null) await waiting
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  #wait(weight: number, signal: AbortSignal | undefined): Promise<void> {
    const { maxWaitMs, refusal } = this.#options
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter)
        clearTimeout(timer)
        signal?.removeEventListener('abort', abandon)
      }
      const fail = (error: unknown): void => {
        leave()
        reject(error)
        // The next waiter may be smaller than the one that left.
        this.#serve()
      }
      const abandon = (): void => fail(signal!.reason)
      const timer = maxWaitMs > 0 ? setTimeout(() => fail(refusal()), maxWaitMs) : undefined
      const waiter: Waiter = {
        weight,
        grant: () => {
          leave()
          resolve()
        },
      }
      signal?.addEventListener('abort', abandon)
      this.#waiters.add(waiter)
    })
  }

  #serve(): void {
    for (const waiter of this.#waiters) {
      // Not even a smaller one after it: small ones could overtake a large one without end.
      if (!this.#fits(waiter.weight)) return
      // Taken here, not by the waiter itself: a newcomer could take the permits before the waiter wakes.
      this.#free -= waiter.weight
      waiter.grant()
    }
  }

  #fits(weight: number): boolean {
    return this.#free >= weight || this.#free === this.#options.permits
  }
}

/** A semaphore for each key, kept only while it is used. */
export class KeyedSemaphore {
  readonly #options: SemaphoreOptions
  readonly #byKey = new Map<string, Semaphore>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  isBusy(key: string): boolean {
    return this.#byKey.has(key)
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const own = this.#byKey.get(key) ?? new Semaphore(this.#options)
    this.#byKey.set(key, own)
    try {
      return await own.run(work)
    } finally {
      if (own.idle) this.#byKey.delete(key)
    }
  }
}
