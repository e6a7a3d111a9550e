import { setTimeout as sleep } from 'node:timers/promises'
import type { Refused } from '../../channels/channel.js'
import { type Provider, type Receipt, SendError } from '../../channels/provider.js'
import type { AttemptOutcome } from '../../domain/change.js'
import type { Channel } from '../../domain/channel.js'
import { StoreUnavailable } from '../../domain/errors.js'
import type { Mode } from '../../domain/token.js'
import type { Fact } from '../../domain/transition.js'
import type { Taker } from '../../store/delivery/claim-returns.js'
import type { Claim, Lease } from '../../store/delivery/claims.js'
import type { UnknownOutcome } from '../../store/delivery/unknown-outcomes.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import { namesOf, type ResolveResult, resolveOutcome } from '../unknown/resolve.js'
import { Breaker } from './breaker.js'
import { afterFailure, afterRefusal, BRIEF_PAUSE_MS, delayAfter, type FailedAttempt, jittered } from './failed-attempt.js'
import { type Flight, flightOf, internalError, sendInTime } from './flight.js'
import type { LaneOptions } from './lane-options.js'
import { createLostClaims } from './lost-claims.js'

const MAX_CLAIM = 128
/** No answer may silence a carrier for longer. */
const MAX_PAUSE_MS = 5 * 60_000

/**
 * A lane brings the deliveries of one channel and mode to one carrier: it claims due deliveries, sends them and records the
 * outcomes. It holds no SQL and no connection while a carrier is called.
 */
export class Lane<Message> {
  /** The identity of its carrier. */
  readonly identity: string
  readonly channel: Channel
  readonly mode: Mode
  readonly whenUnknown: Provider<Message>['whenUnknown']
  readonly settleMs: number
  readonly #options: LaneOptions<Message>
  readonly #timing: EngineTiming
  readonly #lost: ReturnType<typeof createLostClaims>
  readonly #breaker: Breaker
  readonly #flights = new Map<Promise<void>, Flight>()
  /** Places reserved for the deliveries that a claim under way may bring. */
  #asked = 0
  #others: readonly Lane<unknown>[] = []
  #onRoom = (): void => {}
  #pausedUntil = 0
  #stopping = false
  /** For metrics. */
  readonly counts = { sent: 0, failed: 0, retried: 0, uncertain: 0, fenced: 0 }

  constructor(options: LaneOptions<Message>) {
    this.#options = options
    this.identity = options.identity
    this.channel = options.provider.channel
    this.mode = options.mode
    this.whenUnknown = options.provider.whenUnknown
    this.settleMs = options.settleMs
    this.#timing = { ...engineTiming, ...options.timing }
    this.#breaker = new Breaker(this.#timing)
    this.#lost = createLostClaims(options.putBackClaims, this.#timing.latestCommitMs)
  }

  /** Whether this lane can take work now. While it cannot, the next lane of the same channel does. */
  get open(): boolean {
    const { carrier } = this.#options
    return !this.#stopping && carrier.ready !== false && performance.now() >= this.#pausedUntil && this.#breaker.allows()
  }

  /** Whether the carrier asked for a short pause. It is waited for: another carrier is for when this one fails. */
  get isThrottledBriefly(): boolean {
    const pauseMs = this.#pausedUntil - performance.now()
    return !this.#stopping && this.#options.carrier.ready !== false && this.#breaker.allows() && pauseMs <= BRIEF_PAUSE_MS
  }

  /** Introduces the lanes of the same channel and mode, which get the messages that this carrier cannot take. */
  join(group: readonly Lane<unknown>[]): void {
    this.#others = group.filter(lane => lane !== (this as unknown as Lane<unknown>))
  }

  /** How long to wait after this attempt; null: it was the last. */
  delayAfter(attempt: Pick<Claim, 'attempt' | 'failovers'>): number | null {
    return delayAfter(this.#options.retryDelaysMs, attempt)
  }

  /** The deliveries that this lane holds. */
  get held(): readonly Lease[] {
    return [...this.#flights.values()]
  }

  /** `kept`: the leases that were renewed. A send whose lease was not renewed is aborted when the lease ends. */
  renew(kept: ReadonlySet<Lease>, until: number): void {
    for (const flight of this.#flights.values()) if (kept.has(flight)) flight.heldUntil = Math.max(flight.heldUntil, until)
  }

  /** Puts back the deliveries of claims whose answers from the database were lost. */
  putBackLost(): Promise<void> {
    return this.#lost.putBack()
  }

  get #busy(): number {
    return this.#flights.size + this.#asked
  }

  get #room(): number {
    return Math.min(MAX_CLAIM, (this.#breaker.probing ? 1 : this.#options.concurrency) - this.#busy)
  }

  /** A few large claims cost less than many small ones. */
  get hasRoom(): boolean {
    return this.#busy === 0 || this.#room >= Math.min(this.#options.concurrency / 4, MAX_CLAIM)
  }

  /** Claims due deliveries once and starts to send them. Returns how many; 'later': it waited for the carrier's rate instead. */
  work(): Promise<number | 'later'> {
    return this.#claim(this.#options.claim)
  }

  /** The same with deliveries that other carriers failed to take. */
  failover(): Promise<number | 'later'> {
    return this.#claim(this.#options.claimFailovers)
  }

  async #claim(claim: LaneOptions<Message>['claim']): Promise<number | 'later'> {
    const { rate, onError } = this.#options
    const room = Math.max(1, this.#room)
    this.#asked += room
    try {
      const { granted, waitMs } = rate === undefined ? { granted: room, waitMs: 0 } : await rate.take(room)
      if (granted === 0) {
        await sleep(waitMs)
        return 'later'
      }
      const claimed = await this.#claimUpTo(granted, claim)
      // If that fails, the carrier gets a few messages less: the claim itself succeeded.
      if (claimed < granted) await rate?.giveBack(granted - claimed).catch(error => onError(error, 'a rate given back'))
      return claimed
    } finally {
      this.#asked -= room
      if (this.#shouldWake) this.#onRoom()
    }
  }

  async #claimUpTo(limit: number, claim: LaneOptions<Message>['claim']): Promise<number> {
    const { channel, mode, identity: carrier } = this
    const { rank, leaseMs, sendsContent: withContent = false } = this.#options
    // Before the claim: while the database is unreachable, this fails and no further claim is lost.
    await this.#lost.putBack()
    // The lease counts from before the statement: its answer may be slow.
    const heldUntil = performance.now() + leaseMs
    const claims = await this.#lost.take(owner => claim({ channel, mode, carrier, rank, limit, leaseMs, withContent, owner }))
    for (const claimed of claims) {
      const held = flightOf(claimed, heldUntil)
      this.#track(held, this.#admit(claimed, held))
    }
    return claims.length
  }

  /** Resolves when there is room again, or when this lane can take nothing more. Only one caller at a time may wait. */
  roomAgain(): Promise<void> {
    if (this.#shouldWake) return Promise.resolve()
    return new Promise(resolve => {
      this.#onRoom = resolve
    })
  }

  get #shouldWake(): boolean {
    return this.hasRoom || !this.open
  }

  /** Claims nothing more. */
  halt(): void {
    this.#stopping = true
    this.#onRoom()
  }

  /** Waits for the deliveries in flight. To be called once nobody claims for this lane any more. */
  async finish(): Promise<void> {
    // A call under way is waited for; an upload that may take an hour is not, since another worker may repeat it.
    const stopMs = this.whenUnknown === 'safe' ? this.#timing.stopMs : this.#options.provider.timeoutMs
    const timer = setTimeout(() => {
      for (const { abort } of this.#flights.values()) abort.abort()
    }, stopMs)
    await Promise.all(this.#flights.keys())
    clearTimeout(timer)
    await this.#lost.putBack().catch(error => this.#options.onError(error, 'claims without an answer'))
    await this.#options.carrier.close()
  }

  resolve(outcome: UnknownOutcome, stop: AbortSignal): Promise<ResolveResult> {
    return resolveOutcome(this.#options, outcome, this.delayAfter(outcome), stop)
  }

  #track(held: Flight, carrying: Promise<void>): void {
    const flight = carrying
      // Another worker takes the delivery up when its lease runs out.
      .catch(error => this.#options.onError(error, 'a delivery was interrupted'))
      .finally(() => {
        this.#flights.delete(flight)
        if (this.#shouldWake) this.#onRoom()
      })
    this.#flights.set(flight, held)
  }

  /** A large message waits, claimed and with its lease renewed, until there is memory for it. */
  async #admit(claim: Claim, held: Flight): Promise<void> {
    const { memory } = this.#options
    const bytes = memory?.weigh(claim) ?? 0
    if (memory === undefined || bytes === 0) return this.#prepareAndSend(claim, held)
    const waiting = memory.budget.acquire(bytes)
    if (waiting !== null) await waiting
    try {
      // Without this, a stop would last until all waiting messages were sent one after the other.
      await (waiting !== null && this.#stopping ? this.#options.putBack(claim, 0) : this.#prepareAndSend(claim, held))
    } finally {
      memory.budget.release(bytes)
    }
  }

  async #prepareAndSend(claim: Claim, held: Flight): Promise<void> {
    this.#options.trace?.('claimed')
    const message = await this.#prepare(claim)
    if (message === null) return
    if (isRefused(message)) return this.#reportFailed(claim, afterRefusal(this.#options, claim, message.refused))
    // A process that was stopped for longer than its lease must not send what another process sends already. Nothing has left, so
    // a claim that is still valid says so, and one that is not is fenced.
    if (performance.now() >= held.heldUntil)
      return this.#failed(claim, new SendError('temporary', 'A mensagem só ficou pronta depois do prazo deste envio.'), null)
    await this.#send(claim, message, held)
  }

  /** null: another lane has it, it is back in the queue, or its failure is recorded. */
  async #prepare(claim: Claim): Promise<Message | Refused | null> {
    try {
      const message = await this.#options.prepare(claim)
      return !isRefused(message) && this.#cannotCarry(message) && (await this.#passToAnotherLane(claim, message)) ? null : message
    } catch (error) {
      // Nothing has left: the outcome is known, and the carrier is not to blame.
      const expected = error instanceof SendError
      if (!expected) this.#options.onError(error, 'a message could not be prepared')
      // A database that had no connection for us says nothing about the message: it goes back as it came and costs no attempt.
      const later = error instanceof StoreUnavailable ? { untried: true, retryAfterMs: this.#timing.busyMs } : {}
      const failure = expected ? error : internalError('temporary', 'Erro interno ao preparar a mensagem.', error, later)
      await this.#failed(claim, failure, null)
      return null
    }
  }

  async #send(claim: Claim, message: Message, held: Flight): Promise<void> {
    const { carrier, provider, identity, trace } = this.#options
    const { period } = this.#breaker
    let receipt: Receipt
    try {
      trace?.('sending')
      receipt = await sendInTime(carrier, message, held, provider.timeoutMs)
    } catch (error) {
      // Carriers throw SendError and nothing else. How far a send with another error got is unknown.
      const unexpected = (): SendError => internalError('uncertain', 'Erro interno ao falar com a operadora.', error)
      return this.#failed(claim, error instanceof SendError ? error : unexpected(), period)
    }
    trace?.('answered')
    this.#breaker.succeeded()
    const { answer, facts } = receipt
    const data = { ...facts, carrier: identity, reference: claim.reference, attempt: claim.attempt, answer }
    await this.#report(claim, this.#fact(claim, provider.takenIs ?? 'sent', data), {
      ...namesOf(identity, receipt.references),
      ...(receipt.delivered ? { delivered: this.#fact(claim, 'delivered', data) } : {}),
    })
    trace?.('recorded')
  }

  #cannotCarry(message: Message): boolean {
    return this.#options.carrier.lacks?.(message) === true
  }

  /** Passes the message to a lane that can take it, or puts it back until one can; false: no other lane ever can. */
  async #passToAnotherLane(claim: Claim, message: Message): Promise<boolean> {
    const able = this.#others.filter(lane => !lane.#cannotCarry(message))
    // A delivery with unknown outcome may be repeated by its own carrier only, even if this carrier can no longer carry it.
    if (able.length === 0 || claim.bound) return false
    const next = able.find(lane => lane.open && lane.#room > 0)
    const busy = able.some(lane => lane.open || lane.isThrottledBriefly)
    if (next === undefined) await this.#options.putBack(claim, jittered(busy ? this.#timing.busyMs : this.#timing.absentMs))
    else await next.#takeOver(claim, to => this.#options.pass(claim, to))
    return true
  }

  /** Tracked from the first moment: a stop of this lane waits for this delivery too. */
  async #takeOver(claim: Claim, pass: (to: Taker) => Promise<boolean>): Promise<void> {
    const { identity, leaseMs } = this.#options
    await this.#lost.take(owner => {
      const taken = { ...claim, owner }
      const held = flightOf(taken, performance.now() + leaseMs)
      const passing = pass({ carrier: identity, owner, leaseMs })
      const carrying = passing.then(
        passed => (passed ? this.#admit(taken, held) : undefined),
        () => {},
      )
      this.#track(held, carrying)
      return passing
    })
  }

  /** `period`: of the breaker, when the carrier was called; null: the carrier was not called. */
  async #failed(claim: Claim, error: SendError, period: number | null): Promise<void> {
    const byCarrier = period !== null && error.scope === 'carrier'
    const next = afterFailure(this.#options, claim, error, byCarrier)
    if ('putBackMs' in next) return this.#options.putBack(claim, next.putBackMs)
    if (byCarrier) this.#slowDown(error, period)
    await this.#reportFailed(claim, next)
  }

  #reportFailed(claim: Claim, { type, data, more, unresolved }: FailedAttempt): Promise<void> {
    const fact = this.#fact(claim, type, data)
    if (unresolved === null) return this.#report(claim, fact, more)
    const { reference, attempt } = claim
    const why = this.#fact(claim, 'unresolved', { carrier: this.identity, reference, attempt, reason: unresolved })
    return this.#report(claim, fact, { ...more, unresolved: why })
  }

  #slowDown({ kind, retryAfterMs }: SendError, period: number): void {
    if (kind !== 'permanent') this.#breaker.failed(period)
    if (kind !== 'throttled') return
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + Math.min(retryAfterMs ?? 1_000, MAX_PAUSE_MS))
  }

  async #report(
    claim: Claim,
    fact: Fact,
    more: Omit<AttemptOutcome, 'kind' | 'notification' | 'fact' | 'fence'> = {},
  ): Promise<void> {
    const { notification, owner, attempt, ordinal } = claim
    const fence = { owner, attempt, ordinal }
    const suppressed = this.#options.suppresses?.(fact) === true ? { suppresses: true } : {}
    const outcome = await this.#options.record({ kind: 'attempt', notification, fact, fence, ...more, ...suppressed })
    if (outcome === 'fenced') this.counts.fenced++
    else if (fact.type === 'processed') this.counts.sent++
    else if (fact.type in this.counts) this.counts[fact.type as keyof Lane<Message>['counts']]++
  }

  #fact(claim: Claim, type: Fact['type'], data: Fact['data']): Fact {
    return { channel: claim.channel, type, at: new Date(this.#options.clock()), source: this.identity, data }
  }
}

const isRefused = (message: unknown): message is Refused =>
  typeof message === 'object' && message !== null && 'refused' in message
