import type { Mail } from './email/mail.js'

/** What the carriers took, newest last. Bounded: the oldest make room. */
export interface Kept {
  mail: Mail
  raw: Buffer
}

export interface InboxLimits {
  maxMessages: number
  maxBytes: number
}

export interface Filter {
  to?: string
  subject?: string
  channel?: string
  since?: Date
}

/** One line for every message that was accepted, kept after the message itself made room, so that doubles can be counted. */
export interface LogEntry {
  id: string
  to: string
  messageId: string | null
  envid: string | null
  receivedAt: Date
}

interface Waiter {
  filter: Filter
  wake: () => void
}

const MAX_LOG = 100_000
/** What a mail takes beside its bytes and its headers. */
const OVERHEAD = 1_024
const weigh = ({ mail, raw }: Kept): number => raw.length + mail.header.length + OVERHEAD

export class Inbox {
  readonly #limits: InboxLimits
  readonly #kept = new Map<string, Kept>()
  readonly #waiters = new Set<Waiter>()
  #log: LogEntry[] = []
  #bytes = 0

  constructor(limits: InboxLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#kept.size
  }

  add(kept: Kept): void {
    this.#kept.set(kept.mail.id, kept)
    this.#bytes += weigh(kept)
    for (const [id, oldest] of this.#kept) {
      if (this.#kept.size <= this.#limits.maxMessages && this.#bytes <= this.#limits.maxBytes) break
      if (oldest === kept) break
      this.#kept.delete(id)
      this.#bytes -= weigh(oldest)
    }
    for (const waiter of this.#waiters) if (matches(kept.mail, waiter.filter)) waiter.wake()
  }

  record({ id, to, messageId, envelope, receivedAt }: Mail): void {
    this.#log.push({ id, to, messageId, envid: envelope.envid, receivedAt })
    // In chunks: shifting 100,000 entries for each new one would cost more than the mail.
    if (this.#log.length >= MAX_LOG + 10_000) this.#log = this.#log.slice(-MAX_LOG)
  }

  get log(): readonly LogEntry[] {
    return this.#log.slice(-MAX_LOG)
  }

  clearLog(): void {
    this.#log = []
  }

  find(id: string): Kept | null {
    return this.#kept.get(id) ?? null
  }

  /** Newest first. */
  list(filter: Filter): Mail[] {
    const found: Mail[] = []
    for (const { mail } of this.#kept.values()) if (matches(mail, filter)) found.push(mail)
    return found.reverse()
  }

  /** Like list, but waits for the first that matches; an empty list once the time is up or the asker is gone. */
  async wait(filter: Filter, ms: number, signal: AbortSignal): Promise<Mail[]> {
    if (ms > 0 && !signal.aborted && this.list(filter).length === 0) {
      await new Promise<void>(resolve => {
        const waiter = { filter, wake: () => done() }
        const timer = setTimeout(() => done(), ms)
        const done = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          this.#waiters.delete(waiter)
          resolve()
        }
        signal.addEventListener('abort', done)
        this.#waiters.add(waiter)
      })
    }
    return this.list(filter)
  }

  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
  }

  close(): void {
    for (const waiter of this.#waiters) waiter.wake()
  }
}

const matches = (mail: Mail, { to, subject, channel, since }: Filter): boolean =>
  (to === undefined || mail.to.toLowerCase() === to.toLowerCase()) &&
  (subject === undefined || mail.subject.toLowerCase().includes(subject.toLowerCase())) &&
  (channel === undefined || mail.channel === channel) &&
  (since === undefined || mail.receivedAt >= since)
