import type { Clock } from '../src/domain/clock.js'
import type { FaultSwitch } from './faults.js'
import { addReport, type Message, newStamp, type Report, type Stamp, settleReport } from './message.js'

export interface NewReport {
  message: Message
  /** The channel's faults: they may delay or duplicate the report. */
  faults: FaultSwitch
  type: string
  status?: string | null
  afterMs?: number
}

/** The result of one attempt. Only 'no answer' means that the receiver may be gone. */
export interface Attempt {
  outcome: 'done' | 'refused' | 'deferred' | 'no answer'
  detail: string
}

export interface QueueParts<Item> {
  clock: Clock
  attempt(item: Item): Promise<Attempt>
  /** Whether a gateway has registered to receive reports. */
  hasRoutes(): boolean
  retryDelayMs(failedAttempts: number): number
  giveUpMs: number
  maxInFlight?: number
  /** waitForCapacity() waits while so many reports are ready, provided that a gateway receives them. */
  maxReady?: number
  onIdle?(): void
}

interface Entry<Item> {
  item: Item
  report: Report
  attempts: number
  /** Time of the first attempt; the time limit runs from then on. */
  since: number | null
}

const MAX_IN_FLIGHT = 8
/** About 4 kB each. Beyond this number the oldest report is dropped. */
const MAX_QUEUED = 20_000
const MAX_READY = 2_000
const MAX_CAPACITY_WAIT_MS = 10_000

/** Sends reports back to the sender. A report is retried until it is taken, refused or too old. */
export class ReportQueue<Item> {
  readonly #parts: QueueParts<Item>
  /** Not due yet, or waiting after a failed attempt. */
  readonly #delayed = new Map<Entry<Item>, NodeJS.Timeout>()
  readonly #ready = new Set<Entry<Item>>()
  #inFlight = 0
  #pausedUntil = 0
  #pause: NodeJS.Timeout | undefined
  readonly #waiters = new Set<() => void>()
  #closed = false

  constructor(parts: QueueParts<Item>) {
    this.#parts = parts
  }

  /** Adds the report to its message and queues it. A duplicate has the same stamp, hence the same bytes. */
  send({ message, faults, type, status = null, afterMs = 0 }: NewReport, createItem: (stamp: Stamp) => Item): Report {
    const delayMs = afterMs + faults.now.lateReportsMs
    const stamp = newStamp(this.#parts.clock, delayMs)
    const sendOnce = (): Report => {
      const report = addReport(message, stamp, type, status)
      this.#add({ item: createItem(stamp), report, attempts: 0, since: null }, delayMs)
      return report
    }
    const report = sendOnce()
    if (faults.now.duplicateReports) sendOnce()
    return report
  }

  /** Retries at once what failed before. Called when a gateway has registered or connected. */
  retryNow(): void {
    this.#pausedUntil = 0
    for (const [entry, timer] of this.#delayed) {
      if (entry.since === null) continue
      clearTimeout(timer)
      this.#delayed.delete(entry)
      this.#ready.add(entry)
    }
    this.#startReady()
  }

  /** Carriers call this before they accept a message, so that a fast sender cannot outrun its own reports. */
  async waitForCapacity(): Promise<void> {
    const { clock } = this.#parts
    const deadline = clock() + MAX_CAPACITY_WAIT_MS
    while (this.#isFull() && clock() < deadline) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(() => done(), 250)
        const done = (): void => {
          clearTimeout(timer)
          this.#waiters.delete(done)
          resolve()
        }
        this.#waiters.add(done)
      })
    }
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#delayed.values()) clearTimeout(timer)
    this.#delayed.clear()
    this.#ready.clear()
    clearTimeout(this.#pause)
    for (const wake of this.#waiters) wake()
  }

  #add(entry: Entry<Item>, delayMs: number): void {
    if (this.#closed) return
    if (this.#delayed.size + this.#ready.size >= MAX_QUEUED) this.#dropOldest()
    if (delayMs > 0) this.#delay(entry, delayMs)
    else {
      this.#ready.add(entry)
      this.#startReady()
    }
  }

  get #maxReady(): number {
    return this.#parts.maxReady ?? MAX_READY
  }

  #isFull(): boolean {
    const { clock, hasRoutes } = this.#parts
    return !this.#closed && hasRoutes() && this.#ready.size >= this.#maxReady && this.#pausedUntil <= clock()
  }

  #dropOldest(): void {
    const oldest = this.#ready.values().next().value ?? this.#delayed.keys().next().value
    if (oldest === undefined) return
    this.#ready.delete(oldest)
    clearTimeout(this.#delayed.get(oldest))
    this.#delayed.delete(oldest)
    settleReport(oldest.report, 'expired', 'Descartado: avisos demais à espera.', this.#parts.clock)
  }

  #delay(entry: Entry<Item>, ms: number): void {
    const timer = setTimeout(() => {
      this.#delayed.delete(entry)
      this.#ready.add(entry)
      this.#startReady()
    }, ms)
    this.#delayed.set(entry, timer)
  }

  #startReady(): void {
    const waitMs = this.#pausedUntil - this.#parts.clock()
    if (waitMs > 0) {
      clearTimeout(this.#pause)
      this.#pause = setTimeout(() => this.#startReady(), waitMs)
      return
    }
    for (const entry of this.#ready) {
      if (this.#inFlight >= (this.#parts.maxInFlight ?? MAX_IN_FLIGHT)) return
      this.#ready.delete(entry)
      this.#inFlight++
      this.#attempt(entry).finally(() => {
        this.#inFlight--
        if (this.#ready.size < this.#maxReady) for (const wake of this.#waiters) wake()
        if (!this.#closed) this.#startReady()
      })
    }
    if (this.#inFlight === 0) this.#parts.onIdle?.()
  }

  async #attempt(entry: Entry<Item>): Promise<void> {
    const { clock, attempt, hasRoutes, retryDelayMs, giveUpMs } = this.#parts
    const { item, report } = entry
    entry.since ??= clock()
    entry.attempts++
    // A report that cannot be composed fails alone; a rejection here would stop the queue.
    const failed = (error: Error): Attempt => ({ outcome: 'refused', detail: error.message })
    const { outcome, detail } = await attempt(item).catch(failed)
    if (outcome === 'done' || outcome === 'refused') return void settleReport(report, outcome, detail, clock)
    if (clock() - entry.since >= giveUpMs) return void settleReport(report, 'expired', detail, clock)
    report.detail = detail
    if (this.#closed) return
    const delayMs = retryDelayMs(entry.attempts)
    // When the receiver is gone, one report probes it while the others wait.
    if (outcome === 'no answer' && hasRoutes()) this.#pausedUntil = clock() + delayMs
    this.#delay(entry, delayMs)
  }
}
