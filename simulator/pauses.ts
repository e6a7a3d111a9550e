import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** The waiting times of a carrier, which all end when the carrier closes. */
export class Pauses {
  readonly #stop = new AbortController()

  constructor() {
    // Every pause adds a listener; without this, more than ten pauses at a time print a warning of a leak.
    setMaxListeners(0, this.#stop.signal)
  }

  /** Resolves to false when the carrier closed before the time was up. */
  async wait(ms: number): Promise<boolean> {
    return ms === 0 || sleep(ms, true, { signal: this.#stop.signal }).catch(() => false)
  }

  close(): void {
    this.#stop.abort()
  }
}
