import { randomUUID } from 'node:crypto'
import { type Carrier, type Provider, type Receipt, SendError } from '../channels/provider.js'
import type { Clock } from '../domain/clock.js'
import type { Channel } from '../domain/notification.js'
import type { Mode } from '../domain/token.js'
import type { Fact } from '../domain/transition.js'
import type { Claim, ClaimQuestion, Uncertain } from '../store/claims.js'
import { Breaker } from './breaker.js'
import type { ByteBudget } from './byte-budget.js'
import type { Change, ChangeOutcome } from './record.js'

/**
 * A lane carries the deliveries of one channel and mode to one carrier: claims what is due, sends it, reports what became of
 * it. It holds no SQL and no connection while a carrier is called.
 */
export interface LaneOptions<Message> {
  provider: Provider<Message>
  /** The name of this carrier's attempts of other times (channels/carrier-name.ts). */
  formerly?: string
  carrier: Carrier<Message>
  /** Whose references these are: two carriers may give two messages the same name. */
  carrierKey: string
  mode: Mode
  concurrency: number
  /** Waits between tries; when they are used up the delivery is dead. */
  retryDelaysMs: readonly number[]
  leaseMs: number
  /** How long the carrier is given to tell of a send whose answer was lost, before anything is done about it. */
  settleMs: number
  clock: Clock
  claim(question: ClaimQuestion): Promise<Claim[]>
  record(change: Change): Promise<ChangeOutcome>
  /** From a claim to a message for the carrier, or the fact that there can be none. */
  prepare(claim: Claim): Promise<Message | Refused>
  /** Bounds what is held in memory; shared by all lanes whose messages may be large. */
  memory?: LaneMemory
  onError(error: unknown, what: string): void
  /** Told where a delivery stands, so that fault drills can strike exactly there. */
  trace?(point: TracePoint): void
}

export interface LaneMemory {
  budget: ByteBudget
  /** The bytes that a message holds until it is sent; 0: too few to count. */
  weigh(claim: Claim): number
}

/** claimed and journalled; about to hand over; the carrier answered; the outcome is committed. */
type TracePoint = 'claimed' | 'sending' | 'answered' | 'recorded'

/** Why a delivery cannot be sent at all. */
export interface Refused {
  refused: Fact['data']
}

const MAX_CLAIM = 128
const JITTER = 0.2
const MAX_PAUSE_MS = 5 * 60_000
const MAX_DELAY_MS = 4 * 60 * 60_000
/** Why a try is repeated whose worker is gone. */
export const INTERRUPTED = 'O processo que fazia este envio foi interrompido.'

const STOPPED = 'O processo foi parado antes deste envio: ele é feito pelo próximo.'

/** A delivery in the lane's hands. */
interface Flight {
  notification: string
  /** On the clock of performance.now(): until when the lease holds. */
  heldUntil: number
}

export class Lane<Message> {
  readonly owner: string
  readonly #options: LaneOptions<Message>
  readonly #breaker = new Breaker()
  readonly #flying = new Map<Promise<void>, Flight>()
  #onRoom = (): void => {}
  #pausedUntil = 0
  #stopping = false
  /** For metrics. */
  readonly counts = { sent: 0, failed: 0, retried: 0, uncertain: 0, fenced: 0 }

  constructor(options: LaneOptions<Message>, owner: string = randomUUID()) {
    this.#options = options
    this.owner = owner
  }

  get name(): string {
    return this.#options.provider.name
  }

  get formerly(): string | undefined {
    return this.#options.formerly
  }

  get channel(): Channel {
    return this.#options.provider.channel
  }

  get whenUncertain(): Provider<Message>['whenUncertain'] {
    return this.#options.provider.whenUncertain
  }

  /** Whether this lane can take work now; the next one of the same channel stands in while it cannot. */
  get open(): boolean {
    const { carrier } = this.#options
    return !this.#stopping && carrier.ready !== false && performance.now() >= this.#pausedUntil && this.#breaker.allows()
  }

  get mode(): Mode {
    return this.#options.mode
  }

  get settleMs(): number {
    return this.#options.settleMs
  }

  /** The notifications in its hands. */
  get held(): string[] {
    return [...this.#flying.values()].map(({ notification }) => notification)
  }

  /** Told which leases were renewed, and until when. */
  renew(kept: ReadonlySet<string>, until: number): void {
    for (const flight of this.#flying.values()) if (kept.has(flight.notification)) flight.heldUntil = until
  }

  get #room(): number {
    return Math.min(MAX_CLAIM, this.#breaker.probing ? 1 - this.#flying.size : this.#options.concurrency - this.#flying.size)
  }

  /** Few large claims cost less than many small ones. */
  get hasRoom(): boolean {
    return this.#flying.size === 0 || this.#room >= Math.min(this.#options.concurrency / 4, MAX_CLAIM)
  }

  /** Claims once and starts what it got. Returns how many. */
  async work(): Promise<number> {
    const { claim, mode, leaseMs, provider } = this.#options
    const room = Math.max(1, this.#room)
    // The lease counts from before the question: the answer may be slow.
    const heldUntil = performance.now() + leaseMs
    const claims = await claim({
      channel: provider.channel,
      mode,
      provider: provider.name,
      owner: this.owner,
      limit: room,
      leaseMs,
    })
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
    await Promise.all(this.#flying.keys())
    await this.#options.carrier.close()
  }

  /** Looks again at a send of which nobody knows whether it happened: what was done about it, or who is to look next. */
  async settle({ notification, channel, reference, recipient, doubts }: Uncertain): Promise<'settled' | 'later' | 'a person'> {
    const { provider, carrier, carrierKey, record, clock } = this.#options
    const conclude = async (
      type: 'sent' | 'processed' | 'retried',
      data: Fact['data'],
      names: readonly string[] = [],
    ): Promise<'settled'> => {
      await record({
        notification,
        fact: {
          channel,
          type,
          at: new Date(clock()),
          source: provider.name,
          data: { provider: provider.name, reference, ...data },
        },
        whilst: 'uncertain',
        ...(type === 'retried' ? { delayMs: 0 } : {}),
        ...(names.length > 0 ? { references: { carrier: carrierKey, names } } : {}),
      })
      return 'settled'
    }
    if (provider.whenUncertain === 'safe') return conclude('retried', { reason: INTERRUPTED })
    if (provider.whenUncertain === 'report' && doubts === 1) {
      return conclude('retried', { reason: 'A operadora não deu notícia deste envio: ele é repetido uma vez.' })
    }
    if (provider.whenUncertain !== 'lookup' || carrier.find === undefined) return 'a person'
    const found = await carrier.find(reference, recipient, AbortSignal.timeout(provider.timeoutMs)).catch(() => null)
    if (found === null) return 'later'
    return found === 'unknown'
      ? conclude('retried', { reason: 'A operadora não recebeu este envio: ele é repetido.' })
      : conclude(provider.takenIs ?? 'sent', { answer: found.answer, settled: true }, found.references)
  }

  #start(claim: Claim, heldUntil: number): void {
    const held: Flight = { notification: claim.notification, heldUntil }
    const flight = this.#admit(claim, held)
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

  /** Nothing of it has left: the next worker takes it at once. */
  async #leave(claim: Claim): Promise<void> {
    const { provider, record } = this.#options
    const data = { provider: provider.name, reference: claim.reference, attempt: claim.attempt, reason: STOPPED }
    const fence = { owner: this.owner, attempt: claim.attempt }
    await record({ notification: claim.notification, fact: this.#fact(claim, 'retried', data), fence, delayMs: 0 })
  }

  async #carry(claim: Claim, held: Flight): Promise<void> {
    const { prepare, provider, clock, trace, onError } = this.#options
    trace?.('claimed')
    let message: Message | Refused
    try {
      message = await prepare(claim)
    } catch (error) {
      // Nothing has left: it is tried again without a doubt, and the carrier has no part in it.
      onError(error, 'a message could not be prepared')
      return this.#failed(claim, unprepared(error), false)
    }
    if (isRefused(message)) return this.#report(claim, this.#fact(claim, 'failed', message.refused))
    // A process that was stopped for longer than its lease must not send what another one sends already.
    if (performance.now() >= held.heldUntil) return
    let receipt: Receipt
    try {
      trace?.('sending')
      receipt = await this.#hand(message)
    } catch (error) {
      return this.#failed(claim, error instanceof SendError ? error : unexpected(error))
    }
    trace?.('answered')
    this.#breaker.succeeded()
    const { answer, facts } = receipt
    const data = { ...facts, provider: provider.name, reference: claim.reference, attempt: claim.attempt, answer }
    await this.#report(claim, this.#fact(claim, provider.takenIs ?? 'sent', data), undefined, receipt.references)
    trace?.('recorded')
    if (receipt.delivered) {
      // The lease ended with the report: whoever knows of a delivery may say so.
      await this.#options.record({
        notification: claim.notification,
        fact: { ...this.#fact(claim, 'delivered', data), at: new Date(clock()) },
      })
    }
  }

  /** Not AbortSignal.timeout: its timers stay for their whole time, thousands of them, long after the carrier answered. */
  async #hand(message: Message): Promise<Receipt> {
    const { carrier, provider } = this.#options
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), provider.timeoutMs)
    try {
      return await carrier.send(message, late.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  async #failed(claim: Claim, error: SendError, atCarrier = true): Promise<void> {
    const { provider, retryDelaysMs } = this.#options
    const data = {
      provider: provider.name,
      reference: claim.reference,
      attempt: claim.attempt,
      reason: error.reason,
      answer: error.answer ?? error.message,
    }
    if (atCarrier && error.scope === 'carrier') this.#slowDown(error)
    const planned = retryDelaysMs[claim.attempt - 1]
    const uncertain = error.kind === 'uncertain' && provider.whenUncertain !== 'safe'
    if (uncertain) return this.#report(claim, this.#fact(claim, 'uncertain', data), this.#options.settleMs)
    if (error.kind === 'permanent' || planned === undefined) {
      const dead = error.kind !== 'permanent'
      return this.#report(
        claim,
        this.#fact(claim, 'failed', { ...data, failure: 'rejected', failureDetail: error.reason, ...(dead ? { dead } : {}) }),
      )
    }
    const delayMs = Math.max(Math.min(error.retryAfterMs ?? 0, MAX_DELAY_MS), jittered(planned))
    await this.#report(claim, this.#fact(claim, 'retried', { ...data, delayMs }), delayMs)
  }

  /** What one recipient's server says must not stop what goes to others; nor may any answer silence a carrier for long. */
  #slowDown({ kind, retryAfterMs }: SendError): void {
    if (kind !== 'permanent') this.#breaker.failed()
    if (kind !== 'throttled') return
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + Math.min(retryAfterMs ?? 1_000, MAX_PAUSE_MS))
  }

  async #report(claim: Claim, fact: Fact, delayMs?: number, names: readonly string[] = []): Promise<void> {
    const outcome = await this.#options.record({
      notification: claim.notification,
      fact,
      fence: { owner: this.owner, attempt: claim.attempt },
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(names.length > 0 ? { references: { carrier: this.#options.carrierKey, names } } : {}),
    })
    if (outcome === 'fenced') this.counts.fenced++
    else if (fact.type === 'processed') this.counts.sent++
    else if (fact.type in this.counts) this.counts[fact.type as keyof Lane<Message>['counts']]++
  }

  #fact(claim: Claim, type: Fact['type'], data: Fact['data']): Fact {
    return { channel: claim.channel, type, at: new Date(this.#options.clock()), source: this.#options.provider.name, data }
  }
}

const isRefused = (message: unknown): message is Refused =>
  typeof message === 'object' && message !== null && 'refused' in message

const unexpected = (cause: unknown): SendError =>
  new SendError('temporary', 'Erro interno ao falar com a operadora.', { answer: String((cause as Error).message), cause })

const unprepared = (cause: unknown): SendError =>
  new SendError('temporary', 'Erro interno ao preparar a mensagem.', { answer: String((cause as Error).message), cause })

/** Retries of many deliveries that failed together must not come back together. */
const jittered = (delayMs: number): number => Math.round(delayMs * (1 - JITTER + Math.random() * 2 * JITTER))
