import type { Message } from './message.js'

/** One message and the bytes that came. */
export interface Kept<M extends Message = Message> {
  message: M
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
  channel: string
  to: string
  reference: string | null
  receivedAt: Date
  /** The channel's own names for it. */
  names: Record<string, string | null>
}

interface Waiter {
  filter: Filter
  wake: () => void
}

const MAX_LOG = 100_000
/** What a message takes beside its bytes. */
const OVERHEAD = 1_024

/** What the carriers took, newest last. Bounded: the oldest make room. */
export class Inbox {
  readonly #limits: InboxLimits
  readonly #kept = new Map<string, { kept: Kept; bytes: number }>()
  readonly #waiters = new Set<Waiter>()
  #log: LogEntry[] = []
  #bytes = 0

  constructor(limits: InboxLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#kept.size
  }

  /** A desk whose messages hold much beside the raw bytes says how much. */
  add(kept: Kept, besideBytes = 0): void {
    const bytes = kept.raw.length + besideBytes + OVERHEAD
    this.#kept.set(kept.message.id, { kept, bytes })
    this.#bytes += bytes
    for (const [id, oldest] of this.#kept) {
      if (this.#kept.size <= this.#limits.maxMessages && this.#bytes <= this.#limits.maxBytes) break
      if (oldest.kept === kept) break
      this.#kept.delete(id)
      this.#bytes -= oldest.bytes
    }
    for (const waiter of this.#waiters) if (matches(kept.message, waiter.filter)) waiter.wake()
  }

  record({ id, channel, to, reference, receivedAt }: Message, names: Record<string, string | null> = {}): void {
    this.#log.push({ id, channel, to, reference, receivedAt, names })
    // In chunks: shifting 100,000 entries for each new one would cost more than the message.
    if (this.#log.length >= MAX_LOG + 10_000) this.#log = this.#log.slice(-MAX_LOG)
  }

  get log(): readonly LogEntry[] {
    return this.#log.slice(-MAX_LOG)
  }

  clearLog(): void {
    this.#log = []
  }

  find(id: string): Kept | null {
    return this.#kept.get(id)?.kept ?? null
  }

  /** Newest first. */
  list(filter: Filter): Message[] {
    const found: Message[] = []
    for (const { kept } of this.#kept.values()) if (matches(kept.message, filter)) found.push(kept.message)
    return found.reverse()
  }

  /** Like list, but waits for the first that matches; an empty list once the time is up or the asker is gone. */
  async wait(filter: Filter, ms: number, signal: AbortSignal): Promise<Message[]> {
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

const matches = (message: Message, { to, subject, channel, since }: Filter): boolean =>
  (to === undefined || isTo(message, to)) &&
  (subject === undefined || message.subject.toLowerCase().includes(subject.toLowerCase())) &&
  (channel === undefined || message.channel === channel) &&
  (since === undefined || message.receivedAt >= since)

const PHONES: readonly string[] = ['sms', 'whatsapp', 'voice']

/** A phone number is the same with and without plus sign, blanks and hyphens. */
function isTo({ channel, to }: Message, wanted: string): boolean {
  if (PHONES.includes(channel) && /^[\d\s().+-]+$/.test(wanted)) return digits(to) === digits(wanted)
  return to.toLowerCase() === wanted.toLowerCase()
}

const digits = (text: string): string => text.replace(/\D/g, '')
