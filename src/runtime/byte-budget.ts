/**
 * Bounds the bytes that are held at once. Whoever asks is served in order of arrival, so that nothing large waits for ever
 * behind what is small; what is larger than the whole goes alone. Each holder takes once, so none waits for another.
 */
export class ByteBudget {
  readonly #total: number
  readonly #waiting: { bytes: number; grant(): void }[] = []
  #free: number

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  /** null: there was room. */
  take(bytes: number): Promise<void> | null {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#free -= bytes
      return null
    }
    return new Promise(resolve => this.#waiting.push({ bytes, grant: resolve }))
  }

  give(bytes: number): void {
    this.#free += bytes
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#free -= next.bytes
      next.grant()
    }
  }

  #fits(bytes: number): boolean {
    return bytes <= this.#free || this.#free === this.#total
  }
}
