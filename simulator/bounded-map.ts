/** A map that drops its oldest entry when it is full. */
export class BoundedMap<Value> extends Map<string, Value> {
  readonly #maxEntries: number

  constructor(maxEntries: number) {
    super()
    this.#maxEntries = maxEntries
  }

  override set(key: string, value: Value): this {
    super.set(key, value)
    if (this.size > this.#maxEntries) this.delete(this.keys().next().value!)
    return this
  }
}

const MAX_COUNTED = 10_000

/** Counts how often the same message was sent, for fates that refuse the first attempts. */
export class AttemptCounter {
  readonly #counts = new BoundedMap<number>(MAX_COUNTED)

  /** Returns the number of this attempt, from 1. */
  count(key: string): number {
    const attempt = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, attempt)
    return attempt
  }
}
