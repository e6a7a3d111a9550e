import { Refusal } from '../domain/errors.js'

const RETRY_AFTER_SECONDS = 5

/** Lets few through at once, and few wait: costly work cannot be piled up by whoever asks for it. */
export class Turnstile {
  readonly #atOnce: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(atOnce: number, maxWaiting: number) {
    this.#atOnce = atOnce
    this.#maxWaiting = maxWaiting
  }

  get idle(): boolean {
    return this.#inside === 0
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#atOnce) {
      if (this.#waiting.length >= this.#maxWaiting) throw new Refusal('overloaded', [], { retryAfter: RETRY_AFTER_SECONDS })
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    } else {
      this.#inside++
    }
    try {
      return await work()
    } finally {
      // The place is handed on, not given back: nobody slips in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#inside--
      else next()
    }
  }
}

/** A turnstile for each key, kept only while somebody passes. */
export class Turnstiles {
  readonly #atOnce: number
  readonly #maxWaiting: number
  readonly #open = new Map<string, Turnstile>()

  constructor(atOnce: number, maxWaiting: number) {
    this.#atOnce = atOnce
    this.#maxWaiting = maxWaiting
  }

  async pass<T>(key: string, work: () => Promise<T>): Promise<T> {
    const own = this.#open.get(key) ?? new Turnstile(this.#atOnce, this.#maxWaiting)
    this.#open.set(key, own)
    try {
      return await own.pass(work)
    } finally {
      if (own.idle) this.#open.delete(key)
    }
  }
}
