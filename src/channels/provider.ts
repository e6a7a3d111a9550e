import type { Channel } from '../domain/notification.js'

/** The only contract between the gateway and a carrier. One provider, one file. */
export interface Provider<Message> {
  /** Stored with every attempt: 'smtp', 'smpp'. */
  readonly name: string
  readonly channel: Channel
  readonly whenUncertain: WhenUncertain
  /** The longest that a send may take; leases last at least three times as long. */
  readonly timeoutMs: number
  /** Opens the carrier that a setting's URL names. A bad URL throws OperatorError with its name. */
  open(url: URL): Promise<Carrier<Message>>
}

/**
 * What happens to a try whose outcome nobody knows. safe: sent again under the same reference (a double is harmless, a loss
 * is not); report: waits for the carrier's report; lookup: asks the carrier; never: shown to a person.
 */
type WhenUncertain = 'safe' | 'report' | 'lookup' | 'never'

export interface Carrier<Message> {
  /** Hands over one message. Throws SendError and nothing else. */
  send(message: Message, signal: AbortSignal): Promise<Receipt>
  close(): Promise<void>
}

export interface Receipt {
  /** The carrier's own name for what it took, where it gives one. */
  reference: string | null
  /** Its answer as it came, for the timeline. */
  answer: string
  /** Whether the recipient's own server took it; otherwise delivery is known only by a later report. */
  delivered: boolean
}

/**
 * temporary: try again later; throttled: the carrier asked to slow down; permanent: it will never be taken;
 * uncertain: the bytes left and no answer came.
 */
export type SendErrorKind = 'temporary' | 'throttled' | 'permanent' | 'uncertain'

export class SendError extends Error {
  readonly kind: SendErrorKind
  /** In Portuguese, for the status and the timeline. */
  readonly reason: string
  /** The carrier's answer as it came. */
  readonly answer: string | null
  readonly retryAfterMs: number | null

  constructor(kind: SendErrorKind, reason: string, options: { answer?: string; retryAfterMs?: number; cause?: unknown } = {}) {
    super(`${kind}: ${options.answer ?? reason}`, { cause: options.cause })
    this.name = 'SendError'
    this.kind = kind
    this.reason = reason
    this.answer = options.answer ?? null
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}

/** One rendered e-mail for one recipient. */
export interface EmailMessage {
  /** The same at every try: becomes Message-ID (with the sender's domain) and the envelope id of reports (ENVID). */
  reference: string
  /** Envelope sender: names the delivery, so that whatever comes back finds it (VERP). */
  envelopeFrom: string
  to: string
  toName: string
  from: string
  fromName: string
  subject: string
  html: string
  text: string
  attachments: readonly { name: string; bytes: Uint8Array }[]
  date: Date
  /** Where answers go when not to the sender: an address that names the delivery. */
  replyTo?: string
  /** Asks the recipient's mail program for a reading receipt (RFC 8098), to this address. */
  receiptTo?: string
}
