import { BoundedCache } from '../../../runtime/bounded-cache.js'
import { SendError } from '../../provider.js'
import { isInTransaction, SmtpRefusal } from './reply.js'
import { Unreachable } from './session.js'
import { PreparationFailed } from './smtp.js'

interface DestinationSettings {
  /** Concurrent messages to a server that answered recently. Any other server gets half of them. */
  maxConcurrent: number
  random(): number
  firstPauseMs?: number | undefined
  /** How long a message waits for a slot. */
  waitMs?: number | undefined
  /** A destination counts as responsive for this long after its last answer. */
  responsiveMs?: number | undefined
}

interface Destination {
  active: number
  /** Called with null when a slot is free, or with the error that postpones the message. */
  waiters: Set<(error: SendError | null) => void>
  /** Consecutive attempts without an answer about the message. */
  failures: number
  pauseMs: number
  pausedUntil: number
  answeredAt: number
}

/** No destination can be reached, so that the engine fails over to the next carrier. */
export class AllUnreachable extends SendError {}

const FAILURES_TO_PAUSE = 3
const FIRST_PAUSE_MS = 30_000
const MAX_PAUSE_MS = 600_000
const RESPONSIVE_MS = 5_000
const WAIT_MS = 2_000
const FULL_DELAY_MS = 2_000
const FULL_AND_FAILING_DELAY_MS = 15_000
/** This many unreachable destinations within the window, with none reached in between, mean that the fault is ours. */
const MIN_UNREACHABLE = 5
const UNREACHABLE_WINDOW_MS = 600_000
const MAX_KNOWN = 10_000
const PAUSED = 'O servidor do destinatário pediu uma pausa, ou não responde.'

/**
 * Limits and pauses for each mail server that receives mail directly. A server that is slow, silent or throttles delays only its
 * own mail. When many servers cannot be reached at the same time, the fault is on our side.
 */
export class Destinations {
  readonly #settings: DestinationSettings
  readonly #known = new Map<string, Destination>()
  readonly #unreachable = new BoundedCache<string, true>({ maxEntries: 100, ttlMs: UNREACHABLE_WINDOW_MS })

  constructor(settings: DestinationSettings) {
    this.#settings = settings
  }

  /** Sends one message when its destination has a free slot. Otherwise it throws a SendError that postpones the message. */
  async run<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const destination = this.#of(name)
    await this.#acquire(destination)
    try {
      const result = await work()
      this.#recordAnswer(destination)
      return result
    } catch (error) {
      const isTheirs = error instanceof SendError && !(error instanceof PreparationFailed) && !signal.aborted
      throw isTheirs ? this.#recordFailure(name, destination, error) : error
    } finally {
      destination.active--
      this.#admitWaiters(destination)
    }
  }

  get #areAllUnreachable(): boolean {
    return this.#unreachable.size >= MIN_UNREACHABLE
  }

  #of(name: string): Destination {
    const unused = { active: 0, failures: 0, pauseMs: 0, pausedUntil: 0, answeredAt: Number.NEGATIVE_INFINITY }
    const destination: Destination = this.#known.get(name) ?? { ...unused, waiters: new Set() }
    // Re-inserting keeps the map in order of use: the least recently used destination is forgotten first.
    this.#known.delete(name)
    this.#known.set(name, destination)
    for (const [oldest, { active, waiters }] of this.#known) {
      if (this.#known.size <= MAX_KNOWN) break
      if (active === 0 && waiters.size === 0) this.#known.delete(oldest)
    }
    return destination
  }

  #isResponsive({ answeredAt }: Destination): boolean {
    return performance.now() - answeredAt < (this.#settings.responsiveMs ?? RESPONSIVE_MS)
  }

  #hasCapacity(destination: Destination): boolean {
    // While every destination is unreachable, the engine's circuit breaker sends single probes; each must go out.
    if (this.#areAllUnreachable) return true
    const { maxConcurrent } = this.#settings
    const { failures, pauseMs, active } = destination
    if (failures >= FAILURES_TO_PAUSE || pauseMs > 0) return active === 0
    return active < (this.#isResponsive(destination) ? maxConcurrent : Math.max(1, Math.floor(maxConcurrent / 2)))
  }

  async #acquire(destination: Destination): Promise<void> {
    const pause = destination.pausedUntil - performance.now()
    if (pause > 0 && !this.#areAllUnreachable) throw this.#postponed(PAUSED, pause)
    if (this.#hasCapacity(destination)) {
      destination.active++
      return
    }
    const delayMs = destination.failures > 0 || destination.pauseMs > 0 ? FULL_AND_FAILING_DELAY_MS : FULL_DELAY_MS
    const full = this.#postponed('Há mensagens demais a caminho do servidor do destinatário.', delayMs)
    // A waiting message occupies a slot of the worker, so messages wait only for a destination that answers quickly.
    if (!this.#isResponsive(destination) && destination.waiters.size >= this.#settings.maxConcurrent / 2) throw full
    await new Promise<void>((resolve, reject) => {
      const settle = (error: SendError | null): void => {
        clearTimeout(timer)
        destination.waiters.delete(settle)
        if (error === null) resolve()
        else reject(error)
      }
      const timer = setTimeout(() => settle(full), this.#settings.waitMs ?? WAIT_MS)
      destination.waiters.add(settle)
    })
  }

  #admitWaiters(destination: Destination): void {
    for (const settle of destination.waiters) {
      if (!this.#hasCapacity(destination)) return
      destination.active++
      settle(null)
    }
  }

  #recordAnswer(destination: Destination): void {
    this.#unreachable.clear()
    destination.failures = 0
    destination.answeredAt = performance.now()
    if (destination.pausedUntil <= destination.answeredAt) destination.pauseMs = 0
    this.#admitWaiters(destination)
  }

  /** Counts the failure and returns the error for the engine. */
  #recordFailure(name: string, destination: Destination, error: SendError): SendError {
    if (error instanceof Unreachable) this.#unreachable.set(name, true)
    else this.#unreachable.clear()
    if (isSlowDown(error)) this.#pause(destination, error.retryAfterMs ?? 0)
    else if (isAnswer(error)) this.#recordAnswer(destination)
    else if (++destination.failures >= FAILURES_TO_PAUSE) this.#pause(destination, 0)
    if (!(error instanceof Unreachable) || !this.#areAllUnreachable) return error
    const reason = 'Nenhum servidor de destinatário foi alcançado. A porta 25 de saída está aberta?'
    return new AllUnreachable('temporary', reason, { cause: error })
  }

  /** Messages that were already in flight when a pause began do not lengthen it. */
  #pause(destination: Destination, askedMs: number): void {
    const now = performance.now()
    if (destination.pausedUntil <= now) {
      const { firstPauseMs = FIRST_PAUSE_MS } = this.#settings
      destination.pauseMs = Math.min(MAX_PAUSE_MS, Math.max(firstPauseMs, 2 * destination.pauseMs))
      destination.pausedUntil = now + destination.pauseMs
    }
    destination.pausedUntil = Math.max(destination.pausedUntil, now + Math.min(askedMs, MAX_PAUSE_MS))
    const pause = this.#postponed(PAUSED, destination.pausedUntil - now)
    if (!this.#areAllUnreachable) for (const settle of destination.waiters) settle(pause)
  }

  #postponed(reason: string, delayMs: number): SendError {
    // The random part spreads the retries.
    const retryAfterMs = delayMs * (1 + this.#settings.random() / 2)
    return new SendError('temporary', reason, { retryAfterMs, scope: 'message', untried: true })
  }
}

/** A refusal of one recipient does not slow down the others. Code 421 closes the connection, so it concerns all of them. */
const isSlowDown = (error: SendError): boolean =>
  error.kind === 'throttled' && !(error instanceof SmtpRefusal && error.stage === 'recipient' && error.code !== 421)

/** Whether the server decided about the message, whatever the decision. */
const isAnswer = (error: SendError): boolean =>
  error.kind === 'permanent' || (error instanceof SmtpRefusal && isInTransaction(error.stage))
