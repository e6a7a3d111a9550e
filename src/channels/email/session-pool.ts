import { SendError } from '../provider.js'
import { type Limits, type ServerSettings, SmtpSession, StaleSession } from './smtp-session.js'

/** Connections to one server, kept open between messages. */
export interface PoolSettings {
  server: ServerSettings
  /** Connections at most. */
  size: number
  /** Servers close idle connections, mostly after a minute or more. */
  idleMs?: number
  /** Many servers refuse the message after their limit per connection. */
  maxMessages?: number
  /** Called when the last connection is gone and nobody waits. */
  onEmpty?: () => void
}

const IDLE_MS = 20_000
const MAX_MESSAGES = 1_000

interface Waiter {
  go(session: SmtpSession | null): void
  fail(error: SendError): void
}

export class SessionPool {
  readonly #settings: Required<PoolSettings>
  readonly #idle: { session: SmtpSession; timer: NodeJS.Timeout }[] = []
  readonly #waiters = new Set<Waiter>()
  /** Connections open or being opened. */
  #open = 0
  #closed = false

  constructor(settings: PoolSettings) {
    this.#settings = { idleMs: IDLE_MS, maxMessages: MAX_MESSAGES, onEmpty: () => {}, ...settings }
  }

  /** Lends a connection to one message. One that went stale unnoticed is replaced, once, by a new one. */
  async run<T>(limits: Limits, work: (session: SmtpSession) => Promise<T>): Promise<T> {
    try {
      return await this.#lend(await this.#acquire(limits), limits, work)
    } catch (error) {
      if (!(error instanceof StaleSession)) throw error
      this.#dropIdle()
      return await this.#lend(await this.#acquire(limits), limits, work)
    }
  }

  close(): void {
    this.#closed = true
    this.#dropIdle()
    for (const waiter of this.#waiters) waiter.fail(closing())
  }

  async #lend<T>(kept: SmtpSession | null, limits: Limits, work: (session: SmtpSession) => Promise<T>): Promise<T> {
    let session = kept
    try {
      session ??= await SmtpSession.open(this.#settings.server, limits)
      return await work(session)
    } finally {
      this.#release(session)
    }
  }

  /** An open connection, or leave (null) to open one. */
  async #acquire({ deadline, signal }: Limits): Promise<SmtpSession | null> {
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
      const leave = (): void => {
        this.#waiters.delete(waiter)
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
      }
      const waiter: Waiter = {
        go(session) {
          leave()
          resolve(session)
        },
        fail(error) {
          leave()
          reject(error)
        },
      }
      const giveUp = (): void =>
        waiter.fail(new SendError('temporary', 'Todas as conexões com o servidor de e-mail estão ocupadas.'))
      const timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()))
      signal.addEventListener('abort', giveUp)
      this.#waiters.add(waiter)
    })
  }

  #release(session: SmtpSession | null): void {
    const keep = session?.isUsable && session.transactions < this.#settings.maxMessages && !this.#closed ? session : null
    if (keep === null) session?.close()
    const [waiter] = this.#waiters
    if (waiter !== undefined) {
      // The place goes with it: to the connection, or to a new one in its stead.
      waiter.go(keep)
    } else if (keep === null) {
      this.#vacate()
    } else {
      const timer = setTimeout(() => this.#forget(keep), this.#settings.idleMs)
      timer.unref()
      this.#idle.push({ session: keep, timer })
      keep.onGone = () => this.#forget(keep)
    }
  }

  #forget(session: SmtpSession): void {
    const at = this.#idle.findIndex(kept => kept.session === session)
    if (at === -1) return
    const [kept] = this.#idle.splice(at, 1)
    clearTimeout(kept!.timer)
    session.close()
    this.#vacate()
  }

  #dropIdle(): void {
    for (const { session } of [...this.#idle]) this.#forget(session)
  }

  #vacate(): void {
    this.#open--
    if (this.#open === 0 && this.#waiters.size === 0) this.#settings.onEmpty()
  }
}

const closing = (): SendError => new SendError('temporary', 'O envio de e-mails está sendo encerrado.')
