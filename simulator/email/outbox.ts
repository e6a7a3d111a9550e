import { createTransport, type Transporter } from 'nodemailer'
import type { Clock } from '../../src/domain/clock.js'
import type { Report, Stamp } from '../message.js'
import { type Attempt, type NewReport, ReportQueue } from '../report-queue.js'
import type { Mailing } from './reports.js'

const MAX_ROUTES = 16
const RETRY_MS = 1_000
/** Mail servers repeat a report for days: an outage of some minutes must not lose it. */
const GIVE_UP_MS = 600_000
const MAX_CONNECTIONS = 8
/** An idle connection would keep the other side from stopping quickly. */
const IDLE_MS = 500

/** Sends reports and replies over SMTP to the gateways that registered for them. */
export class Outbox {
  /** Newest first. */
  #routes: string[] = []
  readonly #queue: ReportQueue<() => Mailing>
  readonly #transports = new Map<string, Transporter>()
  #idle: NodeJS.Timeout | undefined

  constructor(clock: Clock) {
    this.#queue = new ReportQueue({
      clock,
      attempt: compose => this.#tryRoutes(compose),
      hasRoutes: () => this.#routes.length > 0,
      retryDelayMs: () => RETRY_MS,
      giveUpMs: GIVE_UP_MS,
      onIdle: () => this.#closeWhenIdle(),
    })
  }

  get routes(): readonly string[] {
    return this.#routes
  }

  register(route: string): void {
    this.#routes = [route, ...this.#routes.filter(known => known !== route)].slice(0, MAX_ROUTES)
    this.#queue.retryNow()
  }

  /** The mail is composed at the moment of sending, so that the queue stays small. */
  send(report: NewReport, compose: (stamp: Stamp) => Mailing): Report {
    return this.#queue.send(report, stamp => () => compose(stamp))
  }

  waitForCapacity(): Promise<void> {
    return this.#queue.waitForCapacity()
  }

  close(): void {
    this.#queue.close()
    this.#closeTransports()
  }

  async #tryRoutes(compose: () => Mailing): Promise<Attempt> {
    const mailing = compose()
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
      return { outcome: responseCode >= 500 ? 'refused' : 'deferred', detail: response ?? message }
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
      maxConnections: MAX_CONNECTIONS,
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

  #closeWhenIdle(): void {
    clearTimeout(this.#idle)
    if (this.#transports.size > 0) this.#idle = setTimeout(() => this.#closeTransports(), IDLE_MS)
  }

  #closeTransports(): void {
    clearTimeout(this.#idle)
    for (const transport of this.#transports.values()) transport.close()
    this.#transports.clear()
  }
}
