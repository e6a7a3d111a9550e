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
