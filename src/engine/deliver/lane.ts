import { setTimeout as sleep } from 'node:timers/promises'
import { type Provider, type Receipt, SendError } from '../../channels/provider.js'
import type { AttemptOutcome } from '../../domain/change.js'
import type { Channel } from '../../domain/notification.js'
import type { Mode } from '../../domain/token.js'
import type { Fact } from '../../domain/transition.js'
import type { Taker } from '../../store/claim-returns.js'
import type { Claim, Lease } from '../../store/claims.js'
import type { Uncertain } from '../../store/unknown-outcomes.js'
import { namesOf, type ResolveResult, resolveOutcome } from '../unknown/resolve.js'
import { Breaker } from './breaker.js'
import { carrierOf } from './carrier-of.js'
import { afterFailure, afterRefusal, BRIEF_PAUSE_MS, type FailedTry } from './failed-attempt.js'
import type { LaneOptions, Refused } from './lane-options.js'
import { LostClaims } from './lost-claims.js'
import { delayAfter, jittered } from './retries.js'

const MAX_CLAIM = 128
const MAX_PAUSE_MS = 5 * 60_000
/** Until a delivery that only a busy, or an absent, carrier can carry is looked at again. */
const BUSY_MS = 1_000
const ABSENT_MS = 30_000
/** When stopping, what is under way has this long to end by itself. */
const STOP_MS = 18_000

/** A delivery in the lane's hands. */
interface Flight extends Lease {
  /** On the clock of performance.now(): until when the lease holds. */
  heldUntil: number
  /** Calls off the send. */
  late: AbortController
}

/**
 * A lane carries the deliveries of one channel and mode to one carrier: claims what is due, sends it, reports what became of
 * it. It holds no SQL and no connection while a carrier is called.
 */
export class Lane<Message> {
  readonly #options: LaneOptions<Message>
  readonly #lost: LostClaims
  readonly #breaker = new Breaker()
  readonly #flying = new Map<Promise<void>, Flight>()
  /** Places kept for what a claim may bring. */
  #asked = 0
  #others: readonly Lane<unknown>[] = []
  #names: readonly string[]
  #onRoom = (): void => {}
  #pausedUntil = 0
  #stopping = false
  /** For metrics. */
  readonly counts = { sent: 0, failed: 0, retried: 0, uncertain: 0, fenced: 0 }

  constructor(options: LaneOptions<Message>) {
    this.#options = options
    this.#lost = new LostClaims(owners => options.putBackClaims(owners))
    this.#names = [options.provider.name]
  }

  get name(): string {
    return this.#options.provider.name
  }

  get formerly(): string | undefined {
    return this.#options.formerly
  }

  /** Under which attempts are this carrier's, and no other's of its channel and mode. */
  get names(): readonly string[] {
    return this.#names
  }

  get channel(): Channel {
    return this.#options.provider.channel
  }

  get whenUnknown(): Provider<Message>['whenUnknown'] {
    return this.#options.provider.whenUnknown
  }

  /** Whether this lane can take work now; the next one of the same channel stands in while it cannot. */
  get open(): boolean {
    const { carrier } = this.#options
    return !this.#stopping && carrier.ready !== false && performance.now() >= this.#pausedUntil && this.#breaker.allows()
  }

  /** Asked to slow down for a moment: not worth another carrier, which may do less. */
  get catchesBreath(): boolean {
    const pauseMs = this.#pausedUntil - performance.now()
    return !this.#stopping && this.#options.carrier.ready !== false && this.#breaker.allows() && pauseMs <= BRIEF_PAUSE_MS
  }

  /** Gets to know those of its channel and mode, to whom it gives what it cannot carry. */
  join(group: readonly Lane<unknown>[]): void {
    const self = this as unknown as Lane<unknown>
    this.#others = group.filter(lane => lane !== self)
    this.#names = [this.name, this.formerly].filter(name => name !== undefined && carrierOf(group, name) === self) as string[]
  }

  get mode(): Mode {
    return this.#options.mode
  }

  get settleMs(): number {
    return this.#options.settleMs
  }

  /** How long to wait after a try that led to nothing, or null: it was the last. */
  delayAfter(tried: Pick<Claim, 'attempt' | 'detours'>): number | null {
    return delayAfter(this.#options.retryDelaysMs, tried)
  }

  /** What is in its hands. */
  get held(): readonly Lease[] {
    return [...this.#flying.values()]
  }

  /** Told which leases were renewed, and until when: what is not is called off when its time is over. */
  renew(kept: ReadonlySet<Lease>, until: number): void {
    for (const flight of this.#flying.values()) if (kept.has(flight)) flight.heldUntil = Math.max(flight.heldUntil, until)
  }

  /** Gives back what its claims took whose answers were lost. */
  putBackLost(): Promise<void> {
    return this.#lost.putBack()
  }

  get #busy(): number {
    return this.#flying.size + this.#asked
  }

  get #room(): number {
    return Math.min(MAX_CLAIM, (this.#breaker.probing ? 1 : this.#options.concurrency) - this.#busy)
  }

  /** Few large claims cost less than many small ones. */
  get hasRoom(): boolean {
    return this.#busy === 0 || this.#room >= Math.min(this.#options.concurrency / 4, MAX_CLAIM)
  }

  /** Claims once what is due and starts what it got. Returns how many; 'later': it waited for the carrier's rate instead. */
  work(): Promise<number | 'later'> {
    return this.#claim(this.#options.claim)
  }

  /** The same with what other carriers failed to take. */
  standIn(): Promise<number | 'later'> {
    return this.#claim(this.#options.claimDetours)
  }

  async #claim(claim: LaneOptions<Message>['claim']): Promise<number | 'later'> {
    const { pace, onError } = this.#options
    const room = Math.max(1, this.#room)
    this.#asked += room
    try {
      const { granted, waitMs } = pace === undefined ? { granted: room, waitMs: 0 } : await pace.take(room)
      if (granted === 0) {
        await sleep(waitMs)
        return 'later'
      }
      const claimed = await this.#claimUpTo(granted, claim)
      // Should that fail, the carrier gets a few less: no reason to say that nothing was claimed.
      if (claimed < granted) await pace?.giveBack(granted - claimed).catch(error => onError(error, 'a rate given back'))
      return claimed
    } finally {
      this.#asked -= room
      if (this.#isWorthALook) this.#onRoom()
    }
  }

  async #claimUpTo(limit: number, claim: LaneOptions<Message>['claim']): Promise<number> {
    const { mode, rank, leaseMs, provider } = this.#options
    const { channel, name } = provider
    // First of all: while the database is away, no further claim is lost.
    await this.#lost.putBack()
    // The lease counts from before the question: the answer may be slow.
    const heldUntil = performance.now() + leaseMs
    const question = { channel, mode, provider: name, names: this.#names, rank, limit, leaseMs }
    const claims = await this.#lost.take(owner => claim({ ...question, owner }))
    for (const claimed of claims) this.#start(claimed, heldUntil)
    return claims.length
  }

  /** Resolves when there is room again, or when this lane can take nothing more. One at a time may wait. */
  roomAgain(): Promise<void> {
    if (this.#isWorthALook) return Promise.resolve()
    return new Promise(resolve => {
      this.#onRoom = resolve
    })
  }

  get #isWorthALook(): boolean {
    return this.hasRoom || !this.open
  }

  /** Claims nothing more. */
  halt(): void {
    this.#stopping = true
    this.#onRoom()
  }

  /** Once nobody claims for it any more: finishes what is in flight. */
  async finish(): Promise<void> {
    const timer = setTimeout(() => {
      for (const { late } of this.#flying.values()) late.abort()
    }, this.#stopMs)
    await Promise.all(this.#flying.keys())
    clearTimeout(timer)
    await this.#lost.putBack().catch(error => this.#options.onError(error, 'claims without an answer'))
    await this.#options.carrier.close()
  }

  /** A call that is being spoken is waited for; an upload that may take an hour is not, since another worker may repeat it. */
  get #stopMs(): number {
    const { stopMs, provider } = this.#options
    return stopMs ?? (provider.whenUnknown === 'safe' ? STOP_MS : provider.timeoutMs)
  }

  /** Looks again at an attempt with unknown outcome. */
  resolve(uncertain: Uncertain, stop: AbortSignal): Promise<ResolveResult> {
    return resolveOutcome(this.#options, uncertain, this.delayAfter(uncertain), stop)
  }

  #start(claim: Claim, heldUntil: number): void {
    const held = flightOf(claim, heldUntil)
    this.#track(held, this.#admit(claim, held))
  }

  #track(held: Flight, carrying: Promise<void>): void {
    const flight = carrying
      // Left to the lease: another worker takes it up when it runs out.
      .catch(error => this.#options.onError(error, 'a delivery was interrupted'))
      .finally(() => {
        this.#flying.delete(flight)
        if (this.#isWorthALook) this.#onRoom()
      })
    this.#flying.set(flight, held)
  }

  /** What is large waits, claimed and with its lease renewed, until it can be held. */
  async #admit(claim: Claim, held: Flight): Promise<void> {
    const { memory } = this.#options
    const bytes = memory?.weigh(claim) ?? 0
    if (memory === undefined || bytes === 0) return this.#carry(claim, held)
    const waiting = memory.budget.take(bytes)
    if (waiting !== null) await waiting
    try {
      // Otherwise a stop would last until all that wait have been sent one after the other.
      await (waiting !== null && this.#stopping ? this.#leave(claim) : this.#carry(claim, held))
    } finally {
      memory.budget.give(bytes)
    }
  }

  /** Nothing of it has left, and no try is used up: the next worker takes it at once. */
  #leave(claim: Claim): Promise<void> {
    return this.#options.putBack(claim, 0)
  }

  async #carry(claim: Claim, held: Flight): Promise<void> {
    const { prepare, provider, carrierKey, trace, onError } = this.#options
    trace?.('claimed')
    let message: Message | Refused
    try {
      message = await prepare(claim)
      if (!isRefused(message) && this.#lacks(message) && (await this.#giveAway(claim, message))) return
    } catch (error) {
      // Nothing has left: it is tried again without a doubt, and the carrier has no part in it.
      onError(error, 'a message could not be prepared')
      return this.#failed(claim, unprepared(error), null)
    }
    if (isRefused(message)) {
      return this.#reportFailed(claim, afterRefusal(this.#options, claim, message.refused))
    }
    // A process that was stopped for longer than its lease must not send what another one sends already.
    // Nothing has left: whoever still holds it says so, whoever lost it is not heard.
    if (performance.now() >= held.heldUntil) return this.#failed(claim, tooLate(), null)
    const { period } = this.#breaker
    let receipt: Receipt
    try {
      trace?.('sending')
      receipt = await this.#hand(message, held)
    } catch (error) {
      return this.#failed(claim, error instanceof SendError ? error : unexpected(error), period)
    }
    trace?.('answered')
    this.#breaker.succeeded()
    const { answer, facts } = receipt
    const data = { ...facts, provider: provider.name, reference: claim.reference, attempt: claim.attempt, answer }
    await this.#report(claim, this.#fact(claim, provider.takenIs ?? 'sent', data), {
      ...namesOf(carrierKey, receipt.references),
      ...(receipt.delivered ? { delivered: this.#fact(claim, 'delivered', data) } : {}),
    })
    trace?.('recorded')
  }

  #lacks(message: Message): boolean {
    return this.#options.carrier.lacks?.(message) === true
  }

  /** To a lane that can carry it, or back into the queue until one is there; false: there is none. */
  async #giveAway(claim: Claim, message: Message): Promise<boolean> {
    const able = this.#others.filter(lane => !lane.#lacks(message))
    // Whoever may have it already is the only one to repeat it, whatever it lacks by now.
    if (able.length === 0 || claim.bound) return false
    const next = able.find(lane => lane.open && lane.#room > 0)
    const busy = able.some(lane => lane.open || lane.catchesBreath)
    if (next === undefined) await this.#options.putBack(claim, jittered(busy ? BUSY_MS : ABSENT_MS))
    else await next.#takeOver(claim, to => this.#options.pass(claim, to))
    return true
  }

  /** In flight from the first moment: whoever waits for this lane to finish waits for it too. */
  async #takeOver(claim: Claim, pass: (to: Taker) => Promise<boolean>): Promise<void> {
    const { provider, leaseMs } = this.#options
    await this.#lost.take(owner => {
      const taken = { ...claim, owner }
      const held = flightOf(taken, performance.now() + leaseMs)
      const passing = pass({ provider: provider.name, owner, leaseMs })
      const carrying = passing.then(
        passed => (passed ? this.#admit(taken, held) : undefined),
        () => {},
      )
      this.#track(held, carrying)
      return passing
    })
  }

  /** Called off when its time is over, or its lease: from then on another worker sends it. */
  async #hand(message: Message, held: Flight): Promise<Receipt> {
    const { carrier, provider } = this.#options
    const deadline = performance.now() + provider.timeoutMs
    let timer: NodeJS.Timeout | undefined
    const look = (): void => {
      const left = Math.min(deadline, held.heldUntil) - performance.now()
      if (left <= 0) held.late.abort()
      else timer = setTimeout(look, Math.ceil(left))
    }
    look()
    try {
      return await carrier.send(message, held.late.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  /** `period`: of the breaker, when the carrier was called; null: it was not. */
  async #failed(claim: Claim, error: SendError, period: number | null): Promise<void> {
    const byCarrier = period !== null && error.scope === 'carrier'
    const next = afterFailure(this.#options, claim, error, byCarrier)
    if ('putBackMs' in next) return this.#options.putBack(claim, next.putBackMs)
    if (byCarrier) this.#slowDown(error, period)
    await this.#reportFailed(claim, next)
  }

  #reportFailed(claim: Claim, { type, data, more, unresolved }: FailedTry): Promise<void> {
    const fact = this.#fact(claim, type, data)
    if (unresolved === null) return this.#report(claim, fact, more)
    const { reference, attempt } = claim
    const why = this.#fact(claim, 'unresolved', { provider: this.name, reference, attempt, reason: unresolved })
    return this.#report(claim, fact, { ...more, unresolved: why })
  }

  /** What one recipient's server says must not stop what goes to others; nor may any answer silence a carrier for long. */
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
    const outcome = await this.#options.record({
      kind: 'attempt',
      notification,
      fact,
      fence: { owner, attempt, ordinal },
      ...more,
    })
    if (outcome === 'fenced') this.counts.fenced++
    else if (fact.type === 'processed') this.counts.sent++
    else if (fact.type in this.counts) this.counts[fact.type as keyof Lane<Message>['counts']]++
  }

  #fact(claim: Claim, type: Fact['type'], data: Fact['data']): Fact {
    return { channel: claim.channel, type, at: new Date(this.#options.clock()), source: this.#options.provider.name, data }
  }
}

const flightOf = ({ notification, owner }: Claim, heldUntil: number): Flight => ({
  notification,
  owner,
  heldUntil,
  late: new AbortController(),
})

const isRefused = (message: unknown): message is Refused =>
  typeof message === 'object' && message !== null && 'refused' in message

/** Carriers throw SendError and nothing else: how far this one got, nobody knows. */
const unexpected = (cause: unknown): SendError =>
  new SendError('uncertain', 'Erro interno ao falar com a operadora.', { answer: String((cause as Error).message), cause })

const unprepared = (cause: unknown): SendError =>
  new SendError('temporary', 'Erro interno ao preparar a mensagem.', { answer: String((cause as Error).message), cause })

const tooLate = (): SendError => new SendError('temporary', 'A mensagem só ficou pronta depois do prazo deste envio.')
