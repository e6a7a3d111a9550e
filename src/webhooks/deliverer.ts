import { randomUUID } from 'node:crypto'
import type { Clock } from '../domain/clock.js'
import { signMessage } from '../domain/webhook.js'
import type { MessageFence, WebhookClaim, WebhookQuestion } from '../store/webhook-queue.js'
import { Desk, type Held } from './desk.js'
import type { Outbound } from './outbound.js'
import { type AttemptOutcome, judgeReply, type OutcomeRules, unsendable } from './outcome.js'

/**
 * Carries messages to endpoints: claims what is due, posts it, reports what became of it. It holds no SQL, and no connection
 * to the database while an endpoint is called.
 */
export interface DelivererOptions {
  clock: Clock
  leaseMs: number
  /** Under way at one endpoint, and claimed for it. */
  atOnce: number
  perEndpoint: number
  rules: OutcomeRules
  /** Failures in a row after which an endpoint is left alone for a while. */
  tolerated: number
  outbound: Outbound
  claim(question: WebhookQuestion): Promise<WebhookClaim[]>
  /** The bodies of claimed messages, in their order; null where there is nothing left to tell. */
  render(claims: readonly WebhookClaim[]): Promise<(string | null)[]>
  unseal(claim: WebhookClaim): Buffer[]
  /** Whether the message was still ours to settle. */
  report(outcome: AttemptOutcome): Promise<boolean>
  release(messages: readonly MessageFence[]): Promise<void>
  renew(owner: string): Promise<void>
  onError(error: unknown, what: string): void
  /** Told where a message stands, so that fault drills can strike exactly there. */
  trace?(point: WebhookPoint): void
}

type WebhookPoint = 'claimed' | 'posting' | 'answered' | 'reported'

const POLL_MS = 1_000
/** Claimed at once, for all endpoints together. */
const BATCH = 512
/** Held by this process; the endpoints' own bounds keep a few slow ones from filling it. */
const MOST_HELD = 4_096
const USER_AGENT = 'Carteiro-Webhooks/1.0'

export class Deliverer {
  readonly owner: string = randomUUID()
  readonly #options: DelivererOptions
  readonly #desks = new Map<string, Desk>()
  readonly #flights = new Set<Promise<void>>()
  #leaseUntil = 0
  #held = 0
  #stopping = false
  /** Asked to look again while it was looking. */
  #asked = false
  #sleeper: (() => void) | undefined
  #loop: Promise<void> | undefined
  #renewal: NodeJS.Timeout | undefined

  constructor(options: DelivererOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop = this.#run()
    this.#renewal = setInterval(() => {
      if (this.#held > 0) this.#renew().catch(error => this.#options.onError(error, 'webhook lease renewal'))
    }, this.#options.leaseMs / 6)
  }

  /** Finishes what is under way and gives back the rest. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.notify()
    await this.#loop
    await this.#release([...this.#desks.values()].flatMap(desk => desk.clear()))
    await Promise.all(this.#flights)
    clearInterval(this.#renewal)
    await this.#options.outbound.close()
  }

  /** There may be work. */
  notify(): void {
    this.#asked = true
    this.#sleeper?.()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#asked = false
      const claimed = await this.#claim().catch(error => {
        this.#options.onError(error, 'webhook claim')
        return 0
      })
      if (claimed < BATCH && !this.#asked) await this.#sleep()
    }
  }

  async #sleep(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, POLL_MS)
      this.#sleeper = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#sleeper = undefined
  }

  async #claim(): Promise<number> {
    const { claim, render, leaseMs, perEndpoint, tolerated, onError, trace } = this.#options
    if (this.#held >= MOST_HELD) return 0
    // The lease counts from before the question: the answer may be slow.
    const until = performance.now() + leaseMs
    const held = new Map([...this.#desks].map(([endpoint, desk]) => [endpoint, desk.open]))
    const claims = await claim({ owner: this.owner, leaseMs, limit: BATCH, perEndpoint, held, tolerated })
    if (claims.length === 0) return 0
    if (this.#held === 0) this.#leaseUntil = until
    this.#held += claims.length
    let bodies: (string | null)[]
    try {
      bodies = await render(claims)
    } catch (error) {
      this.#held -= claims.length
      // Left to the lease where even this fails.
      await this.#options.release(claims.map(message => this.#fence(message))).catch(() => {})
      onError(error, 'webhook bodies')
      return 0
    }
    // Opened once for all messages of an endpoint: opening costs more than signing.
    const opened = new Map([...new Map(claims.map(message => [message.endpoint, message]))].map(this.#open))
    const desks = new Set<Desk>()
    for (const [index, message] of claims.entries()) {
      trace?.('claimed')
      const secrets = opened.get(message.endpoint)!
      if (secrets === null) {
        this.#held--
        continue
      }
      const desk = this.#deskOf(message.endpoint)
      desk.add({ claim: message, body: bodies[index]!, secrets })
      desks.add(desk)
    }
    for (const desk of desks) this.#pump(desk)
    return claims.length
  }

  /** A secret that does not open stops its own endpoint, loudly and until its lease runs out, and no other one. */
  readonly #open = ([endpoint, claim]: [string, WebhookClaim]): [string, Buffer[] | null] => {
    try {
      return [endpoint, this.#options.unseal(claim)]
    } catch (error) {
      this.#options.onError(error, `the secret of webhook ${endpoint} does not open`)
      return [endpoint, null]
    }
  }

  #deskOf(endpoint: string): Desk {
    const known = this.#desks.get(endpoint)
    if (known !== undefined) return known
    const desk = new Desk(endpoint, this.#options.atOnce)
    this.#desks.set(endpoint, desk)
    return desk
  }

  #pump(desk: Desk): void {
    for (let message = desk.next(); message !== undefined; message = desk.next()) {
      const flight = this.#carry(desk, message)
        // Left to the lease: it is taken up when that runs out.
        .catch(error => this.#options.onError(error, 'a webhook was interrupted'))
        .finally(() => {
          this.#flights.delete(flight)
          this.#held--
          this.#ended(desk)
        })
      this.#flights.add(flight)
    }
  }

  #ended(desk: Desk): void {
    desk.reported()
    if (!desk.empty) return
    this.#desks.delete(desk.endpoint)
    // What waited for these to be settled may go.
    this.notify()
  }

  async #carry(desk: Desk, message: Held): Promise<void> {
    const { tolerated, trace, report } = this.#options
    let untried: WebhookClaim[] = []
    let outcome: AttemptOutcome | null
    try {
      outcome = await this.#attempt(message)
      if (outcome?.posted === true) {
        // This claim may be older than the failures that its success ends.
        outcome.changesHealth ||= desk.failures > 0
        desk.failures = outcome.succeeded ? 0 : desk.failures + 1
      }
      // Taken off the desk now, given back only when the endpoint is known to rest: nobody is to claim it in between.
      if (desk.failures >= tolerated || outcome?.gone === true || (outcome?.pauseMs ?? 0) > 0) untried = desk.clear()
    } finally {
      // The next one goes while the outcome of this one is written.
      desk.landed()
      this.#pump(desk)
      // While half of them are still there: the next claim is back before the last one has gone.
      if (desk.waiting === this.#options.perEndpoint >> 1 || desk.open === 0) this.notify()
    }
    try {
      if (outcome !== null) await report(outcome)
    } finally {
      await this.#release(untried)
    }
    trace?.('reported')
  }

  /** null: the lease ran out, somebody else may have the message. */
  async #attempt({ claim, body, secrets }: Held): Promise<AttemptOutcome | null> {
    const { clock, outbound, rules, trace } = this.#options
    const fence = this.#fence(claim)
    // A process that was stopped for longer than its lease must not post what another one posts already.
    if (performance.now() >= this.#leaseUntil) return null
    const at = clock()
    if (body === null) return unsendable(claim, fence, new Date(at))
    const seconds = Math.floor(at / 1_000)
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'webhook-id': claim.id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signMessage(secrets, claim.id, seconds, body),
    }
    trace?.('posting')
    const started = performance.now()
    const reply = await outbound.post(claim.url, headers, body).catch(error => error as Error)
    trace?.('answered')
    return judgeReply(claim, fence, reply, { at: new Date(at), durationMs: performance.now() - started }, rules)
  }

  /** Gives back what has not been tried: it does not count as tried. */
  async #release(untried: readonly WebhookClaim[]): Promise<void> {
    if (untried.length === 0) return
    this.#held -= untried.length
    await this.#options.release(untried.map(claim => this.#fence(claim))).catch(error => {
      this.#options.onError(error, 'webhooks are left to their lease')
    })
  }

  async #renew(): Promise<void> {
    const now = performance.now()
    // Too late for what waits here: others may hold it by now.
    if (now >= this.#leaseUntil) await this.#release([...this.#desks.values()].flatMap(desk => desk.clear()))
    await this.#options.renew(this.owner)
    this.#leaseUntil = now + this.#options.leaseMs
  }

  #fence({ id, attempt }: WebhookClaim): MessageFence {
    return { message: id, owner: this.owner, attempt }
  }
}
