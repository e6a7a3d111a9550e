import type { Enclosed } from './message/enclose.js'
import type { Frame } from './message/frame.js'

/** One e-mail for one recipient. Content is put into our frame where the e-mail is composed, which may be a thread. */
export type EmailMessage = WrittenEmail | (EmailHead & Unenclosed)

/** An e-mail with its text, as it is composed. */
export type WrittenEmail = EmailHead & Enclosed

/** Content of the sender that is not in our frame yet. */
export interface Unenclosed {
  content: string
  frame: Frame
}

interface EmailHead {
  /** The same at every try: becomes Message-ID (with the sender's domain) and the envelope id of reports (ENVID). */
  reference: string
  /** Envelope sender: names the delivery, so that whatever comes back finds it (VERP). */
  envelopeFrom: string
  to: string
  toName: string
  from: string
  fromName: string
  subject: string
  /** `sha256`: the file is stored as a blob. */
  attachments: readonly { name: string; bytes: Uint8Array; sha256?: string }[]
  date: Date
  /** Where answers go when not to the sender: an address that names the delivery. */
  replyTo?: string
  /** The name beside `replyTo`; the sender's, if absent. */
  replyToName?: string
  /** Asks the recipient's mail program for a reading receipt (RFC 8098), to this address. */
  receiptTo?: string
  /** What only the recipient may know of it (domain/delivery/sent-content.ts). */
  secrets?: readonly string[]
}
