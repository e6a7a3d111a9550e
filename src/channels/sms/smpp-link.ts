import type { SendError } from '../provider.js'
import { notConnected, type SessionEvents, type SessionSettings, SmppSession } from './smpp-session.js'

const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 30_000

/**
 * Keeps one session to a carrier open and reconnects with exponential backoff, also while nothing is sent, because receipts
 * arrive then too.
 */
export class SmppLink {
  readonly #settings: SessionSettings
  readonly #events: Omit<SessionEvents, 'onEnd'>
  #session: SmppSession | null = null
  #opening: Promise<void> | null = null
  #connectError: SendError | null = null
  #pauseMs = FIRST_PAUSE_MS
  #retryTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(settings: SessionSettings, events: Omit<SessionEvents, 'onEnd'>) {
    this.#settings = settings
    this.#events = events
    this.#open()
  }

  /** True also before the first connection attempt has ended. */
  get ready(): boolean {
    return this.#session === null ? this.#connectError === null : !this.#session.ended
  }

  /** The open session. Throws at once while the carrier is known to be unreachable, so that another carrier takes the message. */
  async session(signal: AbortSignal): Promise<SmppSession> {
    if (this.#session === null && this.#opening !== null && this.#connectError === null) {
      const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([this.#opening, aborted])
    }
    if (this.#session === null || this.#session.ended) throw this.#connectError ?? notConnected()
    return this.#session
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retryTimer)
    await this.#opening
    await this.#session?.close()
  }

  #open(): void {
    this.#opening = this.#connect().finally(() => {
      this.#opening = null
    })
  }

  async #connect(): Promise<void> {
    let ended = false
    const onEnd = (): void => {
      ended = true
      if (this.#session === null) return
      this.#session = null
      this.#connectError = notConnected()
      this.#scheduleRetry()
    }
    try {
      const session = await SmppSession.open(this.#settings, { ...this.#events, onEnd })
      if (ended) throw notConnected()
      this.#session = session
      this.#connectError = null
      this.#pauseMs = FIRST_PAUSE_MS
    } catch (error) {
      this.#connectError = error as SendError
      this.#scheduleRetry()
    }
  }

  #scheduleRetry(): void {
    if (this.#closed) return
    // The random factor keeps several gateways from reconnecting at the same moment.
    const pause = this.#pauseMs * (0.5 + Math.random())
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS)
    this.#retryTimer = setTimeout(() => this.#open(), pause)
  }
}
