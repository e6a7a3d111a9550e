import type { Message } from './message.js'

/** A message and its raw bytes. */
export interface StoredMessage<M extends Message = Message> {
  message: M
  raw: Buffer
}

export interface InboxLimits {
  maxMessages: number
  maxBytes: number
}

export interface Filter {
  /** A whole address or number. */
  to?: string
  /** Part of an address, of a number in any spelling, or of the notification's id. */
  about?: string
  /** A whole idEmail. */
  notification?: string
  subject?: string
  channel?: string
  since?: Date
}

/** One entry for every accepted message. It outlives the message, so that tests can count duplicates. */
export interface LogEntry {
  id: string
  channel: string
  to: string
  reference: string | null
  receivedAt: Date
  /** The channel's own identifiers. */
  names: Record<string, string | null>
}

interface Waiter {
  filter: Filter
  wake: () => void
}

const MAX_LOG = 100_000
/** Memory of a message beside its raw bytes. */
const OVERHEAD = 1_024

/** The messages that the carriers accepted. When the inbox is full, the oldest messages are dropped. */
export class Inbox {
  readonly #limits: InboxLimits
  readonly #messages = new Map<string, { stored: StoredMessage; bytes: number }>()
  readonly #waiters = new Set<Waiter>()
  #log: LogEntry[] = []
  #bytes = 0

  constructor(limits: InboxLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#messages.size
  }

  /** `extraBytes` is the memory that the message itself takes, when it holds copies of the raw bytes. */
  add(stored: StoredMessage, extraBytes = 0): void {
    const bytes = stored.raw.length + extraBytes + OVERHEAD
    this.#messages.set(stored.message.id, { stored, bytes })
    this.#bytes += bytes
    for (const [id, oldest] of this.#messages) {
      if (this.#messages.size <= this.#limits.maxMessages && this.#bytes <= this.#limits.maxBytes) break
      if (oldest.stored === stored) break
      this.#messages.delete(id)
      this.#bytes -= oldest.bytes
    }
    for (const waiter of this.#waiters) if (matches(stored.message, waiter.filter)) waiter.wake()
  }

  record({ id, channel, to, reference, receivedAt }: Message, names: Record<string, string | null> = {}): void {
    this.#log.push({ id, channel, to, reference, receivedAt, names })
    // Dropped in chunks: shifting 100,000 entries for each new one would cost more than the message.
    if (this.#log.length >= MAX_LOG + 10_000) this.#log = this.#log.slice(-MAX_LOG)
  }

  get log(): readonly LogEntry[] {
    return this.#log.slice(-MAX_LOG)
  }

  clearLog(): void {
    this.#log = []
  }

  find(id: string): StoredMessage | null {
    return this.#messages.get(id)?.stored ?? null
  }

  /** Newest first. */
  list(filter: Filter): Message[] {
    const found: Message[] = []
    for (const { stored } of this.#messages.values()) if (matches(stored.message, filter)) found.push(stored.message)
    return found.reverse()
  }

  /** Like list, but waits for the first match until the time is up or the client has gone. */
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
    this.#messages.clear()
    this.#bytes = 0
  }

  close(): void {
    for (const waiter of this.#waiters) waiter.wake()
  }
}

const matches = (message: Message, { to, about, notification, subject, channel, since }: Filter): boolean =>
  (to === undefined || isTo(message, to)) &&
  (about === undefined || isAbout(message, about)) &&
  (notification === undefined || message.notification === notification) &&
  (subject === undefined || fold(message.subject).includes(fold(subject))) &&
  (channel === undefined || message.channel === channel) &&
  (since === undefined || message.receivedAt >= since)

const PHONE_NUMBER = /^[\d\s().+-]+$/

/** Phone numbers match in any spelling: with or without plus sign, blanks and hyphens. */
function isTo({ to }: Message, wanted: string): boolean {
  if (PHONE_NUMBER.test(to) && PHONE_NUMBER.test(wanted)) return digits(to) === digits(wanted)
  return to.toLowerCase() === wanted.toLowerCase()
}

/** A number is found by any run of its digits, with or without mask. */
function isAbout({ to, notification }: Message, wanted: string): boolean {
  if (fold(to).includes(fold(wanted)) || notification?.includes(wanted.toLowerCase())) return true
  return PHONE_NUMBER.test(wanted) && digits(wanted) !== '' && digits(to).includes(digits(wanted))
}

/** Without case and accents: whoever looks for Jose finds José. */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const digits = (text: string): string => text.replace(/\D/g, '')
