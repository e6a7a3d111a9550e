import { createSecretKey, type KeyObject, randomUUID } from 'node:crypto'
import type { Clock } from '../domain/clock.js'
import { signMessage } from '../domain/webhook.js'
import type { MessageFence, WebhookClaim, WebhookQuestion } from '../store/webhook-queue.js'
import { Desk, type DeskBounds, firstRoom, type Held } from './endpoint-queue.js'
import type { Outbound } from './outbound.js'
import { type AttemptOutcome, judgeReply, type OutcomeRules, unsendable } from './outcome.js'

/**
 * Carries messages to endpoints: claims what is due, posts it, reports what became of it. It holds no SQL, and no connection
 * to the database while an endpoint is called.
 */
export interface DelivererOptions extends DeskBounds {
  clock: Clock
  leaseMs: number
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
  /** The messages that are still held. */
  renew(messages: readonly MessageFence[]): Promise<ReadonlySet<string>>
  onError(error: unknown, what: string): void
  /** Told where a message stands, so that fault drills can strike exactly there. */
  trace?(point: WebhookPoint): void
}

type WebhookPoint = 'claimed' | 'posting' | 'answered' | 'reported'

const POLL_MS = 1_000
/** Claimed at once, for all endpoints together. */
const BATCH = 512
/** Held by this process, and for one account: its slow endpoints, however many, must not fill it. */
const MOST_HELD = 4_096
const MOST_PER_ACCOUNT = MOST_HELD / 4
const USER_AGENT = 'Carteiro-Webhooks/1.0'

export class Deliverer {
  readonly owner: string = randomUUID()
  readonly #options: DelivererOptions
  readonly #desks = new Map<string, Desk>()
  readonly #flights = new Set<Promise<void>>()
  /** Only these are renewed: what was given up here must run out. */
  readonly #held = new Set<WebhookClaim>()
  #leaseUntil = 0
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
      if (this.#held.size > 0) this.#renew().catch(error => this.#options.onError(error, 'webhook lease renewal'))
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
    const { claim, render, leaseMs, tolerated, onError, trace } = this.#options
    if (this.#held.size >= MOST_HELD) return 0
    // The lease counts from before the question: the answer may be slow.
    const until = performance.now() + leaseMs
    const claims = await claim({ owner: this.owner, leaseMs, limit: BATCH, tolerated, ...this.#rooms() })
    if (claims.length === 0) return 0
    if (this.#held.size === 0) this.#leaseUntil = until
    for (const message of claims) this.#held.add(message)
    let bodies: (string | null)[]
    try {
      bodies = await render(claims)
    } catch (error) {
      onError(error, 'webhook bodies')
      await this.#release(claims)
      return 0
    }
    // Opened once for all messages of an endpoint: opening costs more than signing.
    const opened = new Map([...new Map(claims.map(message => [message.endpoint, message]))].map(this.#open))
    const desks = new Set<Desk>()
    for (const [index, message] of claims.entries()) {
      trace?.('claimed')
      // Lost while the bodies were made.
      if (!this.#held.has(message)) continue
      const secrets = opened.get(message.endpoint)!
      if (secrets === null) {
        this.#held.delete(message)
        continue
      }
      const desk = this.#deskOf(message.endpoint)
      desk.add({ claim: message, body: bodies[index]!, secrets })
      desks.add(desk)
    }
    for (const desk of desks) this.#pump(desk)
    return claims.length
  }

  #rooms(): Pick<WebhookQuestion, 'room' | 'endpoints' | 'perAccount' | 'accounts'> {
    const accounts = new Map<string, number>()
    for (const { account } of this.#held) accounts.set(account, (accounts.get(account) ?? 0) + 1)
    const endpoints = new Map([...this.#desks].map(([endpoint, { held, room }]) => [endpoint, { held, room }]))
    return { room: firstRoom(this.#options), endpoints, perAccount: MOST_PER_ACCOUNT, accounts }
  }

  /** A secret that does not open stops its own endpoint, loudly and until its lease runs out, and no other one. */
  readonly #open = ([endpoint, claim]: [string, WebhookClaim]): [string, KeyObject[] | null] => {
    try {
      return [endpoint, this.#options.unseal(claim).map(secret => createSecretKey(secret))]
    } catch (error) {
      this.#options.onError(error, `the secret of webhook ${endpoint} does not open`)
      return [endpoint, null]
    }
  }

  #deskOf(endpoint: string): Desk {
    const known = this.#desks.get(endpoint)
    if (known !== undefined) return known
    const desk = new Desk(endpoint, this.#options)
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
          this.#held.delete(message.claim)
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
    let outcome: AttemptOutcome | null = null
    let rests = false
    try {
      outcome = await this.#attempt(message)
      if (outcome?.posted === true) {
        // This claim may be older than the failures that its success ends.
        outcome.changesHealth ||= desk.failures > 0
        desk.failures = outcome.succeeded ? 0 : desk.failures + 1
      }
      rests = desk.failures >= tolerated || outcome?.gone === true || (outcome?.pauseMs ?? 0) > 0
      if (rests) desk.rest()
    } finally {
      // The next one goes while the outcome of this one is written.
      desk.landed(outcome?.posted === true ? outcome.settlement.durationMs : null)
      this.#pump(desk)
      if (desk.asksForMore()) this.notify()
    }
    try {
      if (outcome !== null) await report(outcome)
    } finally {
      if (rests) await this.#giveBack(desk)
    }
    trace?.('reported')
  }

  /** Only now that its endpoint is known to rest: nobody is to claim it in between. Meanwhile another claim may have come in. */
  async #giveBack(desk: Desk): Promise<void> {
    for (let untried = desk.clear(); untried.length > 0; untried = desk.clear()) await this.#release(untried)
    desk.rested()
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
    for (const claim of untried) this.#held.delete(claim)
    await this.#options.release(untried.map(claim => this.#fence(claim))).catch(error => {
      this.#options.onError(error, 'webhooks are left to their lease')
    })
  }

  async #renew(): Promise<void> {
    const now = performance.now()
    // Too late for what waits here: others may hold it by now.
    if (now >= this.#leaseUntil) await this.#release([...this.#desks.values()].flatMap(desk => desk.clear()))
    const asked = [...this.#held]
    const held = await this.#options.renew(asked.map(claim => this.#fence(claim)))
    // A slow question comes after the end of a lease; what it lost is not to be posted under the new one.
    const lost = new Set(asked.filter(({ id }) => !held.has(id)))
    for (const claim of lost) this.#held.delete(claim)
    if (lost.size > 0) for (const desk of this.#desks.values()) desk.clear(claim => lost.has(claim))
    this.#leaseUntil = now + this.#options.leaseMs
  }

  #fence({ id, attempt }: WebhookClaim): MessageFence {
    return { message: id, owner: this.owner, attempt }
  }
}
