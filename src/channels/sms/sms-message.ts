import type { SentContent } from '../../domain/delivery/sent-content.js'

/** One short message to one number. */
export interface SmsMessage {
  /** The same at every try. */
  reference: string
  /** E.164. */
  to: string
  text: string
  /** The carrier may have this message already: an earlier attempt ended without an answer. */
  repeated?: boolean
  /** Parts that the carrier has already accepted: only the others are sent, if the text still has as many parts. */
  taken?: { parts: readonly number[]; total: number }
  /** What only the recipient may know of it. */
  secrets?: readonly string[]
}

/** The text as the recipient reads it. The attempt's facts have its alphabet and the number of its parts. */
export const smsContent = ({ text, secrets = [] }: SmsMessage): SentContent => ({
  type: 'text/plain; charset=utf-8',
  extension: 'txt',
  bytes: Buffer.from(text),
  secrets,
})
