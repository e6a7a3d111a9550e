import { createTransport, type Transporter } from 'nodemailer'
import type { Clock } from '../domain/clock.js'
import type { Report } from './email/mail.js'
import type { Mailing } from './email/reports.js'

/** Carries reports and replies back to whoever registered to take them, over SMTP, as a relay's queue does. */
export interface Outgoing {
  report: Report
  /** Made at the moment of sending, so that what waits is small. */
  compose(): Mailing
}

interface Waiting extends Outgoing {
  /** When the first try was made; from then on there is a limited time. */
  since: number | null
}

type Attempt = { outcome: 'done' | 'refused' | 'put off' | 'no answer'; detail: string }

const MAX_ROUTES = 16
const RETRY_MS = 1_000
const GIVE_UP_MS = 60_000
const PARALLEL = 8
/** Reports that may wait altogether; past this the oldest is given up. About 4 kB each. */
const MAX_WAITING = 20_000
/** Senders are slowed down from here on, as long as somebody takes the reports. */
const CROWDED = 2_000
const PATIENCE_MS = 10_000
/** An idle connection would keep the other side from stopping quickly. */
const IDLE_MS = 500

export class Outbox {
  readonly #clock: Clock
  /** Newest first. */
  #routes: string[] = []
  readonly #transports = new Map<string, Transporter>()
  /** Not due yet, or resting after a failed try. */
  readonly #resting = new Map<Waiting, NodeJS.Timeout>()
  readonly #ready = new Set<Waiting>()
  #inFlight = 0
  #pausedUntil = 0
  #idle: NodeJS.Timeout | undefined
  #pause: NodeJS.Timeout | undefined
  readonly #blocked = new Set<() => void>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get routes(): readonly string[] {
    return this.#routes
  }

  /** The newest registration is tried first; what was waiting for one goes now. */
  register(route: string): void {
    this.#routes = [route, ...this.#routes.filter(known => known !== route)].slice(0, MAX_ROUTES)
    this.#pausedUntil = 0
    for (const [waiting, timer] of this.#resting) {
      if (waiting.since === null) continue
      clearTimeout(timer)
      this.#resting.delete(waiting)
      this.#ready.add(waiting)
    }
    this.#pump()
  }

  add(outgoing: Outgoing, delayMs: number): void {
    if (this.#closed) return
    if (this.#resting.size + this.#ready.size >= MAX_WAITING) this.#dropOldest()
    const waiting = { ...outgoing, since: null }
    if (delayMs > 0) this.#rest(waiting, delayMs)
    else {
      this.#ready.add(waiting)
      this.#pump()
    }
  }

  /** Resolves once the reports under way are few enough to take on more. */
  async room(): Promise<void> {
    const deadline = this.#clock() + PATIENCE_MS
    while (this.#isCrowded() && this.#clock() < deadline) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(() => done(), 250)
        const done = (): void => {
          clearTimeout(timer)
          this.#blocked.delete(done)
          resolve()
        }
        this.#blocked.add(done)
      })
    }
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#resting.values()) clearTimeout(timer)
    this.#resting.clear()
    this.#ready.clear()
    clearTimeout(this.#pause)
    for (const wake of this.#blocked) wake()
    this.#closeTransports()
  }

  #isCrowded(): boolean {
    return !this.#closed && this.#routes.length > 0 && this.#ready.size >= CROWDED && this.#pausedUntil <= this.#clock()
  }

  #dropOldest(): void {
    const oldest = this.#ready.values().next().value ?? this.#resting.keys().next().value
    if (oldest === undefined) return
    this.#ready.delete(oldest)
    clearTimeout(this.#resting.get(oldest))
    this.#resting.delete(oldest)
    this.#settle(oldest.report, 'expired', 'Descartado: avisos demais à espera.')
  }

  #rest(waiting: Waiting, ms: number): void {
    const timer = setTimeout(() => {
      this.#resting.delete(waiting)
      this.#ready.add(waiting)
      this.#pump()
    }, ms)
    this.#resting.set(waiting, timer)
  }

  #pump(): void {
    const wait = this.#pausedUntil - this.#clock()
    if (wait > 0) {
      clearTimeout(this.#pause)
      this.#pause = setTimeout(() => this.#pump(), wait)
      return
    }
    for (const waiting of this.#ready) {
      if (this.#inFlight >= PARALLEL) return
      this.#ready.delete(waiting)
      this.#inFlight++
      this.#send(waiting).finally(() => {
        this.#inFlight--
        if (this.#ready.size < CROWDED) for (const wake of this.#blocked) wake()
        if (!this.#closed) this.#pump()
      })
    }
    if (this.#inFlight === 0 && this.#transports.size > 0) {
      clearTimeout(this.#idle)
      this.#idle = setTimeout(() => {
        if (this.#inFlight === 0) this.#closeTransports()
      }, IDLE_MS)
    }
  }

  async #send(waiting: Waiting): Promise<void> {
    waiting.since ??= this.#clock()
    const { outcome, detail } = await this.#tryRoutes(waiting.compose())
    if (outcome === 'done' || outcome === 'refused') return this.#settle(waiting.report, outcome, detail)
    if (this.#clock() - waiting.since >= GIVE_UP_MS) return this.#settle(waiting.report, 'expired', detail)
    waiting.report.detail = detail
    if (this.#closed) return
    // With nobody there, one report finds out for all.
    if (outcome === 'no answer' && this.#routes.length > 0) this.#pausedUntil = this.#clock() + RETRY_MS
    this.#rest(waiting, RETRY_MS)
  }

  async #tryRoutes(mailing: Mailing): Promise<Attempt> {
    let last: Attempt = { outcome: 'no answer', detail: 'Nenhum gateway se registrou para receber avisos.' }
    for (const route of this.#routes) {
      last = await this.#tryRoute(route, mailing)
      if (last.outcome !== 'no answer') break
    }
    return last
  }

  async #tryRoute(route: string, { from, to, raw }: Mailing): Promise<Attempt> {
    let last: Attempt = { outcome: 'refused', detail: 'Não há a quem responder.' }
    for (const address of to) {
      last = await this.#deliver(route, { from, to: address, raw })
      if (last.outcome !== 'refused') break
    }
    return last
  }

  async #deliver(route: string, { from, to, raw }: { from: string; to: string; raw: string }): Promise<Attempt> {
    try {
      const { response } = await this.#transport(route).sendMail({ envelope: { from, to: [to] }, raw })
      return { outcome: 'done', detail: response ?? '' }
    } catch (error) {
      const { responseCode, response, message } = error as { responseCode?: number; response?: string; message: string }
      if (responseCode === undefined) return { outcome: 'no answer', detail: message }
      return { outcome: responseCode >= 500 ? 'refused' : 'put off', detail: response ?? message }
    }
  }

  #transport(route: string): Transporter {
    clearTimeout(this.#idle)
    const known = this.#transports.get(route)
    if (known !== undefined) return known
    const { hostname, port } = new URL(route)
    const transport = createTransport({
      pool: true,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      name: 'relay.simulador.test',
      ignoreTLS: true,
      maxConnections: PARALLEL,
      maxMessages: Number.POSITIVE_INFINITY,
      connectionTimeout: 5_000,
      greetingTimeout: 10_000,
      socketTimeout: 30_000,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    this.#transports.set(route, transport)
    return transport
  }

  #closeTransports(): void {
    clearTimeout(this.#idle)
    for (const transport of this.#transports.values()) transport.close()
    this.#transports.clear()
  }

  #settle(report: Report, state: Report['state'], detail: string): void {
    report.state = state
    report.detail = detail
    report.doneAt = new Date(this.#clock())
  }
}
