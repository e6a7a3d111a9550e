import type { Clock } from '../src/domain/clock.js'
import { urlBelow } from './addresses.js'
import { sendRequest } from './http-client.js'
import type { Report, Stamp } from './message.js'
import { type Attempt, type NewReport, ReportQueue } from './report-queue.js'

/** Where a gateway receives callbacks, and the secret with which they must be signed. */
export interface CallbackRoute {
  /** Without a slash at its end. */
  base: string
  /** Hexadecimal. */
  secret: string
}

export interface Callback {
  /** A path below the base, or a whole URL below it. */
  to: string
  headers: Record<string, string>
  body: string | Buffer
}

export interface CallbackReport extends NewReport {
  /** Composes and signs the callback at the moment of sending. The same stamp must give the same bytes. */
  compose(route: CallbackRoute, stamp: Stamp): Callback
}

const MAX_ROUTES = 16
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 5_000
const GIVE_UP_MS = 600_000
/** One or two seconds of work: an attempt with unknown outcome waits for these reports, so their queue must stay short. */
const MAX_READY = 200
/** Statuses below 500 that ask for another attempt. */
const RETRIED_STATUSES = [408, 425, 429]

const NO_ROUTE: Attempt = { outcome: 'no answer', detail: 'Nenhum gateway se registrou para receber callbacks.' }
const OUTSIDE: Attempt = { outcome: 'refused', detail: 'O endereço do callback está fora do que o gateway registrou.' }

/** Sends the carriers' HTTP callbacks to the gateways that registered for them, and to no other address. */
export class Callbacks {
  /** Newest first. */
  #routes: CallbackRoute[] = []
  readonly #queue: ReportQueue<(route: CallbackRoute) => Callback>
  readonly #stop = new AbortController()

  constructor(clock: Clock) {
    this.#queue = new ReportQueue({
      clock,
      attempt: compose => this.#tryRoutes(compose),
      hasRoutes: () => this.#routes.length > 0,
      retryDelayMs: failed => Math.min(FIRST_RETRY_MS * 2 ** (failed - 1), MAX_RETRY_MS),
      giveUpMs: GIVE_UP_MS,
      maxReady: MAX_READY,
    })
  }

  /** The registered bases, newest first. */
  get bases(): string[] {
    return this.#routes.map(({ base }) => base)
  }

  /** The newest registration. */
  get route(): CallbackRoute | null {
    return this.#routes[0] ?? null
  }

  /** The registration whose base contains the URL, else the newest one. */
  routeOf(url: string): CallbackRoute | null {
    return this.#routes.find(({ base }) => urlBelow(base, url) !== null) ?? this.route
  }

  register(route: CallbackRoute): void {
    this.#routes = [route, ...this.#routes.filter(({ base }) => base !== route.base)].slice(0, MAX_ROUTES)
    this.#queue.retryNow()
  }

  send({ compose, ...report }: CallbackReport): Report {
    return this.#queue.send(report, stamp => route => compose(route, stamp))
  }

  waitForCapacity(): Promise<void> {
    return this.#queue.waitForCapacity()
  }

  close(): void {
    this.#queue.close()
    this.#stop.abort()
  }

  async #tryRoutes(compose: (route: CallbackRoute) => Callback): Promise<Attempt> {
    let last: Attempt | null = null
    for (const route of this.#routes) {
      const callback = compose(route)
      const url = urlBelow(route.base, callback.to)
      if (url === null) {
        last ??= OUTSIDE
        continue
      }
      last = await this.#post(url, callback)
      if (last.outcome !== 'no answer') break
    }
    return last ?? NO_ROUTE
  }

  async #post(url: URL, { headers, body }: Callback): Promise<Attempt> {
    try {
      const { status } = await sendRequest(url, { method: 'POST', headers, body }, this.#stop.signal)
      const detail = `POST ${url.href}: ${status}`
      if (status >= 200 && status < 300) return { outcome: 'done', detail }
      return { outcome: status >= 500 || RETRIED_STATUSES.includes(status) ? 'deferred' : 'refused', detail }
    } catch (error) {
      return { outcome: 'no answer', detail: `POST ${url.href}: ${(error as Error).message}` }
    }
  }
}
