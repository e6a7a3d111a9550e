import type { Clock } from '../src/domain/clock.js'
import type { Report } from './message.js'

/** What came of one try: nobody answered at all, or somebody said yes, no, or later. */
export interface Attempt {
  outcome: 'done' | 'refused' | 'put off' | 'no answer'
  detail: string
}

export interface QueueParts<Item> {
  clock: Clock
  attempt(item: Item): Promise<Attempt>
  /** Whether anybody registered to take reports. */
  hasRoutes(): boolean
  /** The rest after so many failed tries. */
  restMs(tries: number): number
  giveUpMs: number
  /** Under way at a time. */
  parallel?: number
  /** Senders are slowed down while so many wait, as long as somebody takes the reports. */
  crowded?: number
  /** Nothing is under way now. */
  onIdle?(): void
}

interface Waiting<Item> {
  item: Item
  tries: number
  /** When the first try was made; from then on there is a limited time. */
  since: number | null
}

const PARALLEL = 8
/** Reports that may wait altogether; past this the oldest is given up. About 4 kB each. */
const MAX_WAITING = 20_000
const CROWDED = 2_000
const PATIENCE_MS = 10_000

/** What is on its way back to a sender: tried until it is taken, refused, or too old. Bounded: the oldest make room. */
export class ReportQueue<Item extends { report: Report }> {
  readonly #parts: QueueParts<Item>
  /** Not due yet, or resting after a failed try. */
  readonly #resting = new Map<Waiting<Item>, NodeJS.Timeout>()
  readonly #ready = new Set<Waiting<Item>>()
  #inFlight = 0
  #pausedUntil = 0
  #pause: NodeJS.Timeout | undefined
  readonly #blocked = new Set<() => void>()
  #closed = false

  constructor(parts: QueueParts<Item>) {
    this.#parts = parts
  }

  add(item: Item, delayMs: number): void {
    if (this.#closed) return
    if (this.#resting.size + this.#ready.size >= MAX_WAITING) this.#dropOldest()
    const waiting = { item, tries: 0, since: null }
    if (delayMs > 0) this.#rest(waiting, delayMs)
    else {
      this.#ready.add(waiting)
      this.#pump()
    }
  }

  /** What was waiting for somebody to take it goes now. */
  hurry(): void {
    this.#pausedUntil = 0
    for (const [waiting, timer] of this.#resting) {
      if (waiting.since === null) continue
      clearTimeout(timer)
      this.#resting.delete(waiting)
      this.#ready.add(waiting)
    }
    this.#pump()
  }

  /** Resolves once the reports under way are few enough to take on more. */
  async room(): Promise<void> {
    const { clock } = this.#parts
    const deadline = clock() + PATIENCE_MS
    while (this.#isCrowded() && clock() < deadline) {
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
  }

  get #crowded(): number {
    return this.#parts.crowded ?? CROWDED
  }

  #isCrowded(): boolean {
    const { clock, hasRoutes } = this.#parts
    return !this.#closed && hasRoutes() && this.#ready.size >= this.#crowded && this.#pausedUntil <= clock()
  }

  #dropOldest(): void {
    const oldest = this.#ready.values().next().value ?? this.#resting.keys().next().value
    if (oldest === undefined) return
    this.#ready.delete(oldest)
    clearTimeout(this.#resting.get(oldest))
    this.#resting.delete(oldest)
    this.#settle(oldest, 'expired', 'Descartado: avisos demais à espera.')
  }

  #rest(waiting: Waiting<Item>, ms: number): void {
    const timer = setTimeout(() => {
      this.#resting.delete(waiting)
      this.#ready.add(waiting)
      this.#pump()
    }, ms)
    this.#resting.set(waiting, timer)
  }

  #pump(): void {
    const wait = this.#pausedUntil - this.#parts.clock()
    if (wait > 0) {
      clearTimeout(this.#pause)
      this.#pause = setTimeout(() => this.#pump(), wait)
      return
    }
    for (const waiting of this.#ready) {
      if (this.#inFlight >= (this.#parts.parallel ?? PARALLEL)) return
      this.#ready.delete(waiting)
      this.#inFlight++
      this.#send(waiting).finally(() => {
        this.#inFlight--
        if (this.#ready.size < this.#crowded) for (const wake of this.#blocked) wake()
        if (!this.#closed) this.#pump()
      })
    }
    if (this.#inFlight === 0) this.#parts.onIdle?.()
  }

  async #send(waiting: Waiting<Item>): Promise<void> {
    const { clock, attempt, hasRoutes, restMs, giveUpMs } = this.#parts
    waiting.since ??= clock()
    waiting.tries++
    // One that cannot even be written must not take the others along.
    const failed = (error: Error): Attempt => ({ outcome: 'refused', detail: error.message })
    const { outcome, detail } = await attempt(waiting.item).catch(failed)
    if (outcome === 'done' || outcome === 'refused') return this.#settle(waiting, outcome, detail)
    if (clock() - waiting.since >= giveUpMs) return this.#settle(waiting, 'expired', detail)
    waiting.item.report.detail = detail
    if (this.#closed) return
    const ms = restMs(waiting.tries)
    // With nobody there, one report finds out for all.
    if (outcome === 'no answer' && hasRoutes()) this.#pausedUntil = clock() + ms
    this.#rest(waiting, ms)
  }

  #settle({ item }: Waiting<Item>, state: Report['state'], detail: string): void {
    Object.assign(item.report, { state, detail, doneAt: new Date(this.#parts.clock()) })
  }
}
