import type { SendError } from '../provider.js'
import { away, type SessionEvents, type SessionSettings, SmppSession } from './smpp-session.js'

/** Keeps one session to a carrier, opened again with growing pauses whenever it ends: receipts come also while nothing is sent. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000

export class SmppLink {
  readonly #settings: SessionSettings
  readonly #events: Omit<SessionEvents, 'onEnd'>
  #session: SmppSession | null = null
  /** While the first try, or one after a session that worked, is under way. */
  #opening: Promise<void> | null = null
  #trouble: SendError | null = null
  #pauseMs = FIRST_PAUSE_MS
  #again: NodeJS.Timeout | undefined
  #closed = false

  constructor(settings: SessionSettings, events: Omit<SessionEvents, 'onEnd'>) {
    this.#settings = settings
    this.#events = events
    this.#open()
  }

  /** Whether there is a session, or the first one may come any moment. */
  get ready(): boolean {
    return this.#session !== null || this.#trouble === null
  }

  /** The session, once there is one; throws at once while the carrier is known to be away, so that another can stand in. */
  async session(signal: AbortSignal): Promise<SmppSession> {
    if (this.#session === null && this.#opening !== null && this.#trouble === null) {
      const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([this.#opening, aborted])
    }
    if (this.#session === null) throw this.#trouble ?? away()
    return this.#session
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#again)
    await this.#opening
    await this.#session?.close()
  }

  #open(): void {
    this.#opening = this.#try().finally(() => {
      this.#opening = null
    })
  }

  async #try(): Promise<void> {
    let ended = false
    const onEnd = (): void => {
      ended = true
      if (this.#session === null) return
      this.#session = null
      this.#trouble = away()
      this.#later()
    }
    try {
      const session = await SmppSession.open(this.#settings, { ...this.#events, onEnd })
      if (ended) throw away()
      this.#session = session
      this.#trouble = null
      this.#pauseMs = FIRST_PAUSE_MS
    } catch (error) {
      this.#trouble = error as SendError
      this.#later()
    }
  }

  #later(): void {
    if (this.#closed) return
    // Spread, so that many gateways do not come back to a carrier in the same moment.
    const pause = this.#pauseMs * (0.5 + Math.random())
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
    this.#again = setTimeout(() => this.#open(), pause)
  }
}
