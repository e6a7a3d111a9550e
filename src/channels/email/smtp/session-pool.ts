import { SendError } from '../../provider.js'
import { type Limits, type ServerSettings, SmtpSession, StaleSession } from './session.js'

export interface PoolSettings extends Partial<typeof DEFAULTS> {
  server: ServerSettings
  /** The largest number of connections. */
  size: number
}

/** From the request for a connection until the message's first byte of data leaves. */
export const START_TIMEOUT_MS = 18_000

const DEFAULTS = {
  /** A little longer than the longest silence of a healthy connection (300 s between the data and its reply). */
  waitTimeoutMs: 330_000,
  startTimeoutMs: START_TIMEOUT_MS,
  /** After this time without a free connection the carrier is not ready, so that messages take another carrier. */
  stuckMs: 20_000,
  /** Idle connections are closed before the server closes them, which most servers do after a minute or more. */
  idleMs: 50_000,
  /** Many servers limit the number of messages per connection and refuse the next one. */
  maxMessages: 1_000,
  /** Called when the last connection is closed and no message is under way. */
  onEmpty: (): unknown => undefined,
}

type Work<T> = (session: SmtpSession, limits: Limits) => Promise<T>

/** Connections to one server, kept open between messages. */
export class SessionPool {
  readonly #settings: Required<PoolSettings>
  readonly #idle: { session: SmtpSession; timer: NodeJS.Timeout }[] = []
  readonly #waiters = new Set<(outcome: SmtpSession | null | SendError) => void>()
  /** Messages under way, with those that wait for a connection. */
  #running = 0
  #lent = 0
  #lentLast = 0
  /** Connections open or being opened. */
  #open = 0
  #closed = false

  constructor(settings: PoolSettings) {
    this.#settings = { ...DEFAULTS, ...settings }
  }

  /** Lends a connection to one message. A connection that the server had closed while idle is replaced once by a new one. */
  async run<T>(signal: AbortSignal, work: Work<T>): Promise<T> {
    this.#running++
    try {
      return await this.#lend(signal, work)
    } catch (error) {
      if (!(error instanceof StaleSession)) throw error
      this.#dropIdle()
      return await this.#lend(signal, work)
    } finally {
      this.#running--
      this.#tellIfEmpty()
    }
  }

  /** Whether every connection has been busy with the same message for a long time. */
  get isStuck(): boolean {
    return this.#lent >= this.#settings.size && performance.now() - this.#lentLast > this.#settings.stuckMs
  }

  close(): void {
    this.#closed = true
    this.#dropIdle()
    for (const settle of this.#waiters) settle(closing())
  }

  async #lend<T>(signal: AbortSignal, work: Work<T>): Promise<T> {
    let session = await this.#acquire(signal)
    this.#lent++
    this.#lentLast = performance.now()
    const limits = { deadline: this.#lentLast + this.#settings.startTimeoutMs, signal }
    try {
      session ??= await SmtpSession.open(this.#settings.server, limits)
      return await work(session, limits)
    } finally {
      this.#lent--
      this.#release(session)
    }
  }

  /** An open connection, or null: the caller may open a new one. */
  async #acquire(signal: AbortSignal): Promise<SmtpSession | null> {
    if (this.#closed) throw closing()
    if (signal.aborted) throw new SendError('temporary', 'O envio foi interrompido antes de a mensagem sair.')
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      clearTimeout(kept.timer)
      kept.session.onGone = () => {}
      if (kept.session.isUsable) return kept.session
      kept.session.close()
      this.#open--
    }
    if (this.#open < this.#settings.size) {
      this.#open++
      return null
    }
    return await new Promise((resolve, reject) => {
      const settle = (outcome: SmtpSession | null | SendError): void => {
        this.#waiters.delete(settle)
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        if (outcome instanceof SendError) reject(outcome)
        else resolve(outcome)
      }
      // Nothing was tried: the messages that hold the connections tell whether the server is to blame.
      const giveUp = (): void =>
        settle(new SendError('temporary', 'Todas as conexões com o servidor de e-mail estão ocupadas.', { untried: true }))
      const timer = setTimeout(giveUp, this.#settings.waitTimeoutMs)
      signal.addEventListener('abort', giveUp)
      this.#waiters.add(settle)
    })
  }

  #release(session: SmtpSession | null): void {
    const keep = session?.isUsable && session.transactions < this.#settings.maxMessages && !this.#closed ? session : null
    if (keep === null) session?.close()
    const [settle] = this.#waiters
    if (settle !== undefined) {
      // #open stays the same: the waiting message takes this connection, or opens a new one in its place.
      settle(keep)
    } else if (keep === null) {
      this.#vacate()
    } else {
      const timer = setTimeout(() => this.#forget(keep), this.#settings.idleMs).unref()
      this.#idle.push({ session: keep, timer })
      keep.onGone = () => this.#forget(keep)
    }
  }

  #forget(session: SmtpSession): void {
    const at = this.#idle.findIndex(kept => kept.session === session)
    if (at === -1) return
    clearTimeout(this.#idle.splice(at, 1)[0]!.timer)
    session.close()
    this.#vacate()
  }

  #dropIdle(): void {
    for (const { session } of [...this.#idle]) this.#forget(session)
  }

  #vacate(): void {
    this.#open--
    this.#tellIfEmpty()
  }

  #tellIfEmpty(): void {
    if (this.#open === 0 && this.#running === 0) this.#settings.onEmpty()
  }
}

const closing = (): SendError => new SendError('temporary', 'O envio de e-mails está sendo encerrado.')
