import { setTimeout as sleep } from 'node:timers/promises'
import type { Provider } from '../../channels/provider.js'
import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import type { Taker } from '../../store/delivery/claim-returns.js'
import { type Claim, type Lease, tookFew } from '../../store/delivery/claims.js'
import type { UnknownOutcome } from '../../store/delivery/unknown-outcomes.js'
import { type EngineTiming, engineTiming } from '../timing.js'
import { type ResolveResult, resolveOutcome } from '../unknown/resolve.js'
import { Attempts } from './attempts.js'
import { Breaker } from './breaker.js'
import { CallMeter } from './call-meter.js'
import { BRIEF_PAUSE_MS, delayAfter, jittered } from './failed-attempt.js'
import { type Flight, flightOf } from './flight.js'
import type { LaneOptions } from './lane-options.js'
import { createLostClaims } from './lost-claims.js'

const MAX_CLAIM = 128
/** The part of a lane's places that deliveries of batches may take: a single send finds one of the others free, however slow the carrier is. */
const BATCH_SHARE = 3 / 4
/** The share of the places that must be free before the next claim: a few large claims cost less than many small ones. */
const LEAST_ROOM = 1 / 4

/** How many deliveries may be without a record, those that wait for their carrier included, as a share of the places. */
const UNRECORDED_SHARE = 3 / 2

/** What one claim brought. */
interface ClaimResult {
  /** The deliveries that were claimed. */
  count: number
  /** There was room for many more: the next claim can wait for a signal. */
  tookFew: boolean
}

/**
 * A lane brings the deliveries of one channel and mode to one carrier: it claims due deliveries and keeps them until their
 * attempts (attempts.ts) are recorded. It holds no SQL and no connection while a carrier is called.
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
  #reserved = 0
  /** How many of them deliveries of batches may take. */
  #reservedForBatches = 0
  /** The number of flights that have left their place: the carrier has the message, and only the record is missing. */
  #leftPlaces = 0
  #others: readonly Lane<unknown>[] = []
  #onRoom = (): void => {}
  #onBatchRoom = (): void => {}
  /** The last claim left batches out. */
  #leftBatches = false
  #pausedUntil = 0
  #stopping = false
  /** A person holds this carrier or its channel back. The claim itself leaves held deliveries out; this lets another carrier take them. */
  isHeld = false
  readonly #attempts: Attempts<Message>
  /** For metrics. */
  readonly counts: Attempts<Message>['counts']
  readonly meter = new CallMeter()

  constructor(options: LaneOptions<Message>) {
    this.#options = options
    this.identity = options.identity
    this.channel = options.provider.channel
    this.mode = options.mode
    this.whenUnknown = options.provider.whenUnknown
    this.settleMs = options.settleMs
    this.#timing = { ...engineTiming, ...options.timing }
    this.#breaker = new Breaker(this.#timing)
    const { meter } = this
    this.#attempts = new Attempts(options, {
      timing: this.#timing,
      breaker: this.#breaker,
      meter,
      pause: ms => {
        this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms)
      },
      carrierHasIt: flight => {
        flight.leftItsPlace = true
        this.#leftPlaces++
        this.#tellRoom()
      },
      passOn: async (claim, message) => this.#cannotCarry(message) && this.#passToAnotherLane(claim, message),
    })
    this.counts = this.#attempts.counts
    this.#lost = createLostClaims(options.putBackClaims, this.#timing.latestCommitMs)
  }

  /** Whether this lane can take work now. While it cannot, the next lane of the same channel does. */
  get open(): boolean {
    const { carrier } = this.#options
    const isPaused = this.isHeld || performance.now() < this.#pausedUntil
    return !this.#stopping && carrier.ready !== false && !isPaused && this.#breaker.allows()
  }

  /**
   * For people: whether the carrier takes messages, is left alone for a while, or is not connected. Between the end of a pause and the
   * answer to a probe it may be tried, and is not known to work: an alarm that looks at such a moment would be quiet again.
   */
  get health(): 'open' | 'paused' | 'closed' {
    if (this.#options.carrier.ready === false) return 'closed'
    return this.#stopping || (this.open && !this.#breaker.probing) ? 'open' : 'paused'
  }

  /** Whether the carrier asked for a short pause only. The lane waits for its end; other carriers take over when this one fails. */
  get isThrottledBriefly(): boolean {
    const pauseMs = this.#pausedUntil - performance.now()
    const { ready } = this.#options.carrier
    return !this.#stopping && !this.isHeld && ready !== false && this.#breaker.allows() && pauseMs <= BRIEF_PAUSE_MS
  }

  /** Introduces the lanes of the same channel and mode, which get the messages that this carrier cannot take. */
  join(group: readonly Lane<unknown>[]): void {
    this.#others = group.filter(lane => lane !== (this as unknown as Lane<unknown>))
  }

  /** How long to wait after this attempt; null: it was the last. */
  delayAfter(attempt: Pick<Claim, 'attempt' | 'failovers'>): number | null {
    return delayAfter(this.#options.retryDelaysMs, attempt)
  }

  /** Messages a second that the operator allows its carrier; null: without a limit. */
  get rate(): number | null {
    return this.#options.rate?.perSecond ?? null
  }

  /** The leases of the deliveries that this lane holds. */
  get leases(): readonly Lease[] {
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

  /** Places that are taken: a delivery leaves its place when the carrier has its message, and is recorded while the next ones are sent. */
  get #busy(): number {
    return this.#flights.size - this.#leftPlaces + this.#reserved
  }

  get #room(): number {
    const { concurrency } = this.#options
    // Where the database is slow, the lane waits for it: what is sent and not recorded when a worker dies has an unknown outcome.
    const unrecorded = this.#flights.size + this.#reserved
    const mostUnrecorded = Math.ceil(concurrency * UNRECORDED_SHARE)
    return Math.min(MAX_CLAIM, (this.#breaker.probing ? 1 : concurrency) - this.#busy, mostUnrecorded - unrecorded)
  }

  get hasRoom(): boolean {
    const least = this.#busy === 0 ? 1 : Math.min(this.#options.concurrency * LEAST_ROOM, MAX_CLAIM)
    return this.#room >= least
  }

  /** How many deliveries of batches the next claim may take; 0: until enough of their places are free for a claim that is worth it. */
  get #roomForBatches(): number {
    const places = Math.max(1, Math.floor(this.#options.concurrency * BATCH_SHARE))
    let room = places - this.#reservedForBatches
    let unrecorded = Math.ceil(places * UNRECORDED_SHARE) - this.#reservedForBatches
    for (const { bulk, leftItsPlace } of this.#flights.values()) {
      if (bulk) unrecorded--
      if (bulk && !leftItsPlace) room--
    }
    room = Math.min(room, unrecorded)
    return room >= Math.min(places * LEAST_ROOM, MAX_CLAIM) ? room : 0
  }

  /** Resolves when a claim may take deliveries of batches again; never, if the last one could. Only one caller at a time may wait. */
  batchRoomAgain(): Promise<void> {
    return new Promise(resolve => {
      this.#onBatchRoom = resolve
      if (this.#leftBatches && this.#roomForBatches > 0) resolve()
    })
  }

  /** Claims due deliveries once and starts to send them. It may wait for the carrier's rate instead. */
  work(): Promise<ClaimResult> {
    return this.#claim(this.#options.claim)
  }

  /** The same with deliveries that other carriers failed to take. */
  failover(): Promise<ClaimResult> {
    return this.#claim(this.#options.claimFailovers)
  }

  async #claim(claim: LaneOptions<Message>['claim']): Promise<ClaimResult> {
    const room = Math.max(1, this.#room)
    this.#reserved += room
    try {
      const { granted, waitMs } = await this.#takeRate(room)
      if (granted === 0) {
        await sleep(waitMs)
        return { count: 0, tookFew: false }
      }
      const claimed = await this.#claimUpTo(granted, claim)
      const left = granted - claimed.count
      if (left > 0) await this.#giveBackRate(left)
      return claimed
    } finally {
      this.#reserved -= room
      if (this.#shouldWake) this.#onRoom()
    }
  }

  async #takeRate(want: number): Promise<{ granted: number; waitMs: number }> {
    return this.#options.rate?.take(want) ?? { granted: want, waitMs: 0 }
  }

  /** If that fails, the carrier gets a few messages less, and nothing else is lost. */
  async #giveBackRate(count: number): Promise<void> {
    const { rate, onError } = this.#options
    await rate?.giveBack(count).catch(error => onError(error, 'a rate given back'))
  }

  async #claimUpTo(limit: number, claim: LaneOptions<Message>['claim']): Promise<ClaimResult> {
    const { channel, mode, identity: carrier } = this
    const { rank, leaseMs, sendsContent: withContent = false } = this.#options
    // Before the claim: while the database is unreachable, this fails and no further claim is lost.
    await this.#lost.putBack()
    // The lease counts from before the statement: its answer may be slow.
    const heldUntil = performance.now() + leaseMs
    const bulkLimit = this.#roomForBatches
    this.#leftBatches = bulkLimit === 0
    const question = { channel, mode, carrier, rank, limit, bulkLimit, leaseMs, withContent }
    this.#reservedForBatches += bulkLimit
    const claims = await this.#lost
      .take(owner => claim({ ...question, owner }))
      .finally(() => {
        this.#reservedForBatches -= bulkLimit
      })
    for (const claimed of claims) {
      const flight = flightOf(claimed, heldUntil, this.#options.traceAttempt?.(claimed, carrier))
      this.#track(flight, this.#admit(claimed, flight))
    }
    return { count: claims.length, tookFew: tookFew(question, claims.length) }
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

  #track(flight: Flight, carrying: Promise<void>): void {
    const settled = carrying
      // Another worker takes the delivery up when its lease runs out.
      .catch(error => this.#options.onError(error, 'a delivery was interrupted'))
      .finally(() => {
        flight.span?.end()
        this.#flights.delete(settled)
        if (flight.leftItsPlace) this.#leftPlaces--
        this.#tellRoom()
      })
    this.#flights.set(settled, flight)
  }

  #tellRoom(): void {
    if (this.#shouldWake) this.#onRoom()
    if (this.#leftBatches && this.#roomForBatches > 0) this.#onBatchRoom()
  }

  /** A large message waits, claimed and with its lease renewed, until there is memory for it. */
  async #admit(claim: Claim, flight: Flight): Promise<void> {
    const { memory } = this.#options
    const bytes = memory?.weigh(claim) ?? 0
    if (memory === undefined || bytes === 0) return this.#attempts.prepareAndSend(claim, flight)
    const waiting = memory.budget.acquire(bytes)
    if (waiting !== null) await waiting
    try {
      // Without this, a stop would last until all waiting messages were sent one after the other.
      await (waiting !== null && this.#stopping ? this.#options.putBack(claim, 0) : this.#attempts.prepareAndSend(claim, flight))
    } finally {
      memory.budget.release(bytes)
    }
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
    else {
      const { granted, waitMs } = await next.#reservePass()
      if (granted === 0) await this.#options.putBack(claim, waitMs)
      else if (!(await next.#takeOver(claim, to => this.#options.pass(claim, to)))) await next.#giveBackRate(1)
    }
    // Its own carrier does not get the message.
    await this.#giveBackRate(1)
    return true
  }

  /** A message that another lane passes on counts against the rate of this carrier too. Its place is kept while the rate is asked for. */
  async #reservePass(): Promise<{ granted: number; waitMs: number }> {
    this.#reserved++
    try {
      return await this.#takeRate(1)
    } catch (error) {
      this.#options.onError(error, 'the rate for a message that is passed on')
      return { granted: 0, waitMs: this.#timing.busyMs }
    } finally {
      this.#reserved--
    }
  }

  /** Tracked from the first moment: a stop of this lane waits for this delivery too. */
  #takeOver(claim: Claim, pass: (to: Taker) => Promise<boolean>): Promise<boolean> {
    const { identity, leaseMs } = this.#options
    return this.#lost.take(owner => {
      const taken = { ...claim, owner }
      const flight = flightOf(taken, performance.now() + leaseMs, this.#options.traceAttempt?.(taken, identity))
      const passing = pass({ carrier: identity, owner, leaseMs })
      const carrying = passing.then(
        passed => (passed ? this.#admit(taken, flight) : undefined),
        () => {},
      )
      this.#track(flight, carrying)
      return passing
    })
  }
}
