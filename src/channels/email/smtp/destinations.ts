import { BoundedCache } from '../../../runtime/bounded-cache.js'
import { SendError } from '../../provider.js'
import { SmtpRefusal } from './reply.js'
import { Unreachable } from './session.js'
import { Unsigned } from './smtp.js'

/**
 * What is known of the places that mail goes to straight. One that is slow, silent or asks for less keeps back its own mail and
 * nobody else's; many that cannot be reached at once mean that it is us.
 */
export interface DestinationSettings {
  /** Messages at a time to one that takes them; half as many to one of which that is not known. */
  places: number
  random: () => number
  firstRestMs?: number
}

interface Destination {
  inside: number
  waiters: Set<Waiter>
  /** Tries in a row that led to no answer about a message. */
  failures: number
  restMs: number
  restingUntil: number
  answeredAt: number
}

interface Waiter {
  go(): void
  fail(error: SendError): void
}

/** No destination could be reached: the next carrier had better stand in. */
export class CutOff extends SendError {}

const FAILURES_TO_REST = 3
const FIRST_REST_MS = 30_000
const LONGEST_REST_MS = 600_000
/** Since its last answer: one that is well gives the next place free sooner than this. */
const FLOWING_MS = 5_000
const WAIT_MS = 2_000
const FULL_MS = 2_000
const FULL_AND_FAILING_MS = 15_000
/** Different destinations out of reach, within this time and with none that was reached in between. */
const UNREACHABLE_TO_CUT_OFF = 5
const UNREACHABLE_MS = 600_000
const MAX_KNOWN = 10_000
const MAX_UNREACHABLE = 100

export class Destinations {
  readonly #settings: Required<DestinationSettings>
  readonly #known = new Map<string, Destination>()
  readonly #unreachable = new BoundedCache<string, true>({ maxEntries: MAX_UNREACHABLE, ttlMs: UNREACHABLE_MS })

  constructor(settings: DestinationSettings) {
    this.#settings = { firstRestMs: FIRST_REST_MS, ...settings }
  }

  /** Does the work of one message when its destination has a place for it; otherwise it is postponed. */
  async visit<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const destination = this.#of(name)
    await this.#enter(destination)
    try {
      const result = await work()
      this.#answered(destination)
      return result
    } catch (error) {
      const isTheirs = error instanceof SendError && !(error instanceof Unsigned) && !signal.aborted
      throw isTheirs ? this.#failed(name, destination, error) : error
    } finally {
      destination.inside--
      this.#admit(destination)
    }
  }

  get #isCutOff(): boolean {
    return this.#unreachable.size >= UNREACHABLE_TO_CUT_OFF
  }

  #of(name: string): Destination {
    const destination: Destination = this.#known.get(name) ?? {
      inside: 0,
      waiters: new Set(),
      failures: 0,
      restMs: 0,
      restingUntil: 0,
      answeredAt: Number.NEGATIVE_INFINITY,
    }
    // The one that was not asked for longest is forgotten first.
    this.#known.delete(name)
    this.#known.set(name, destination)
    if (this.#known.size > MAX_KNOWN) this.#forgetOldest()
    return destination
  }

  #isFlowing({ answeredAt }: Destination): boolean {
    return performance.now() - answeredAt < FLOWING_MS
  }

  #hasPlace(destination: Destination): boolean {
    // While nobody is reached every try is welcome: the engine lets single ones through to find out.
    if (this.#isCutOff) return true
    const { places } = this.#settings
    const { failures, restMs, inside } = destination
    if (failures >= FAILURES_TO_REST || restMs > 0) return inside < 1
    return inside < (this.#isFlowing(destination) ? places : Math.max(1, Math.floor(places / 2)))
  }

  async #enter(destination: Destination): Promise<void> {
    const rest = destination.restingUntil - performance.now()
    if (rest > 0 && !this.#isCutOff) throw this.#later('O servidor do destinatário pediu uma pausa, ou não responde.', rest)
    if (this.#hasPlace(destination)) {
      destination.inside++
      return
    }
    const delayMs = destination.failures > 0 || destination.restMs > 0 ? FULL_AND_FAILING_MS : FULL_MS
    const full = this.#later('Há mensagens demais a caminho do servidor do destinatário.', delayMs)
    // Who waits takes room from others: only where it will not be for long.
    if (!this.#isFlowing(destination) && destination.waiters.size >= this.#settings.places / 2) throw full
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer)
        destination.waiters.delete(waiter)
      }
      const waiter: Waiter = {
        go() {
          leave()
          destination.inside++
          resolve()
        },
        fail(error) {
          leave()
          reject(error)
        },
      }
      const timer = setTimeout(() => waiter.fail(full), WAIT_MS)
      destination.waiters.add(waiter)
    })
  }

  #admit(destination: Destination): void {
    for (const waiter of destination.waiters) {
      if (!this.#hasPlace(destination)) return
      waiter.go()
    }
  }

  #answered(destination: Destination): void {
    this.#unreachable.clear()
    destination.failures = 0
    destination.answeredAt = performance.now()
    if (destination.restingUntil <= destination.answeredAt) destination.restMs = 0
    this.#admit(destination)
  }

  /** The error that the engine is to know of. */
  #failed(name: string, destination: Destination, error: SendError): SendError {
    if (error instanceof Unreachable) this.#unreachable.set(name, true)
    else this.#unreachable.clear()
    if (isSlowDown(error)) this.#rest(destination, error.retryAfterMs ?? 0)
    else if (isAnswer(error)) this.#answered(destination)
    else if (++destination.failures >= FAILURES_TO_REST) this.#rest(destination, 0)
    if (!(error instanceof Unreachable) || !this.#isCutOff) return error
    return new CutOff('temporary', 'Nenhum servidor de destinatário foi alcançado. A porta 25 de saída está aberta?', {
      cause: error,
    })
  }

  /** What was under way when the rest began says nothing new: it makes it no longer. */
  #rest(destination: Destination, askedMs: number): void {
    const now = performance.now()
    if (destination.restingUntil <= now) {
      destination.restMs = Math.min(LONGEST_REST_MS, Math.max(this.#settings.firstRestMs, 2 * destination.restMs))
      destination.restingUntil = now + destination.restMs
    }
    destination.restingUntil = Math.max(destination.restingUntil, now + Math.min(askedMs, LONGEST_REST_MS))
    const rest = this.#later('O servidor do destinatário pediu uma pausa, ou não responde.', destination.restingUntil - now)
    if (!this.#isCutOff) for (const waiter of destination.waiters) waiter.fail(rest)
  }

  #later(reason: string, delayMs: number): SendError {
    // Not all at the same moment.
    const retryAfterMs = delayMs * (1 + this.#settings.random() / 2)
    return new SendError('temporary', reason, { retryAfterMs, scope: 'message', untried: true })
  }

  #forgetOldest(): void {
    for (const [name, { inside, waiters }] of this.#known) {
      if (inside > 0 || waiters.size > 0) continue
      this.#known.delete(name)
      return
    }
  }
}

/** A recipient's own trouble is none of the others'; 421 ends the connection, so it is meant for all. */
const isSlowDown = (error: SendError): boolean =>
  error.kind === 'throttled' && !(error instanceof SmtpRefusal && error.stage === 'recipient' && error.code !== 421)

/** Whether the server dealt with the message, whatever it said. */
const isAnswer = (error: SendError): boolean =>
  error.kind === 'permanent' || (error instanceof SmtpRefusal && ['sender', 'recipient', 'data'].includes(error.stage))
