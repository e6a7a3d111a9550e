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
}
