import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../src/domain/clock.js'
import { newId } from '../src/domain/id.js'
import type { FaultSwitch } from './faults.js'
import { addReport, type Message, type Report, type Stamp } from './message.js'
import { type Attempt, ReportQueue } from './report-queue.js'

/** Where a gateway takes callbacks, and the secret from which it expects them to be signed. */
export interface CallbackRoute {
  /** Without a slash at its end. */
  base: string
  /** Hexadecimal. */
  secret: string
}

/** One callback as it goes over the wire. */
export interface Callback {
  /** A path below the base, or a whole URL that lies below it. */
  to: string
  headers: Record<string, string>
  body: string | Buffer
}

/** Something that the carrier tells the sender about a message. */
export interface Telling {
  message: Message
  /** Of the desk: they may make it late, or double. */
  faults: FaultSwitch
  type: string
  status?: string | null
  afterMs?: number
  /** Made at the moment of sending and signed for whoever takes it; the same stamp must give the same bytes. */
  compose(route: CallbackRoute, stamp: Stamp): Callback
}

interface Outgoing {
  report: Report
  compose(route: CallbackRoute): Callback
}

const MAX_ROUTES = 16
const FIRST_REST_MS = 250
const LONGEST_REST_MS = 5_000
const GIVE_UP_MS = 600_000
const TIMEOUT_MS = 10_000
const MAX_ANSWER = 65_536
/** A second or two of work: a sender in doubt waits for these, and must not wait long. */
const CROWDED = 200
/** Too early, too slow or too many is no refusal. */
const LATER = [408, 425, 429]

const NOBODY: Attempt = { outcome: 'no answer', detail: 'Nenhum gateway se registrou para receber callbacks.' }
const OUTSIDE: Attempt = { outcome: 'refused', detail: 'O endereço do callback está fora do que o gateway registrou.' }

/** Carries the carriers' HTTP callbacks to the gateway that registered for them, and to nobody else. */
export class Callbacks {
  /** Newest first. */
  #routes: CallbackRoute[] = []
  readonly #clock: Clock
  readonly #queue: ReportQueue<Outgoing>
  readonly #stop = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#queue = new ReportQueue({
      clock,
      attempt: outgoing => this.#tryRoutes(outgoing),
      hasRoutes: () => this.#routes.length > 0,
      restMs: tries => Math.min(FIRST_REST_MS * 2 ** (tries - 1), LONGEST_REST_MS),
      giveUpMs: GIVE_UP_MS,
      crowded: CROWDED,
    })
  }

  /** Of the gateways that registered, newest first; the secrets stay here. */
  get bases(): string[] {
    return this.#routes.map(({ base }) => base)
  }

  /** The newest registration, for carriers that must check who asks them; null: none yet. */
  get route(): CallbackRoute | null {
    return this.#routes[0] ?? null
  }

  /** Where a URL of a gateway's is reached: the registration that it lies below, or the newest one; null: nobody registered. */
  routeOf(url: string): CallbackRoute | null {
    return this.#routes.find(({ base }) => urlBelow(base, url) !== null) ?? this.route
  }

  /** The newest registration is tried first; what was waiting for one goes now. */
  register(route: CallbackRoute): void {
    this.#routes = [route, ...this.#routes.filter(({ base }) => base !== route.base)].slice(0, MAX_ROUTES)
    this.#queue.hurry()
  }

  send({ message, faults, type, status = null, afterMs = 0, compose }: Telling): Report {
    const delayMs = afterMs + faults.now.lateReportsMs
    const stamp = { id: newId(this.#clock()), at: new Date(this.#clock() + delayMs) }
    const tell = (): Report => {
      const report = addReport(message, stamp, type, status)
      this.#queue.add({ report, compose: route => compose(route, stamp) }, delayMs)
      return report
    }
    const report = tell()
    if (faults.now.duplicateReports) tell()
    return report
  }

  /** Resolves once the callbacks under way are few enough to take on more. */
  room(): Promise<void> {
    return this.#queue.room()
  }

  close(): void {
    this.#queue.close()
    this.#stop.abort()
  }

  async #tryRoutes({ compose }: Outgoing): Promise<Attempt> {
    let last: Attempt | null = null
    for (const route of this.#routes) {
      const { to, headers, body } = compose(route)
      const url = urlBelow(route.base, to)
      if (url === null) {
        last ??= OUTSIDE
        continue
      }
      last = await this.#post(url, headers, body)
      if (last.outcome !== 'no answer') break
    }
    return last ?? NOBODY
  }

  async #post(url: URL, headers: Record<string, string>, body: string | Buffer): Promise<Attempt> {
    try {
      const status = await this.#ask(url, headers, body)
      const detail = `POST ${url.href}: ${status}`
      if (status >= 200 && status < 300) return { outcome: 'done', detail }
      return { outcome: status >= 500 || LATER.includes(status) ? 'put off' : 'refused', detail }
    } catch (error) {
      return { outcome: 'no answer', detail: `POST ${url.href}: ${(error as Error).message}` }
    }
  }

  #ask(url: URL, headers: Record<string, string>, body: string | Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TIMEOUT_MS)])
      const length = String(Buffer.byteLength(body))
      const options = { method: 'POST', headers: { ...headers, 'content-length': length }, signal, agent: false }
      const asked = send(url, options, response => {
        let bytes = 0
        response.on('data', chunk => {
          bytes += chunk.length
          if (bytes > MAX_ANSWER) response.destroy()
        })
        response.on('error', reject)
        response.on('close', () => resolve(response.statusCode ?? 0))
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }
}

/** Null: it lies elsewhere. */
export function urlBelow(base: string, to: string): URL | null {
  const whole = to.startsWith('/') ? `${base}${to}` : to
  if (!URL.canParse(whole)) return null
  const [url, root] = [new URL(whole), new URL(base)]
  const path = root.pathname.replace(/\/$/, '')
  return url.origin === root.origin && (url.pathname === path || url.pathname.startsWith(`${path}/`)) ? url : null
}
