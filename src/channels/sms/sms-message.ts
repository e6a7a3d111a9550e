/** One short message to one number. */
export interface SmsMessage {
  /** The same at every try. */
  reference: string
  /** E.164. */
  to: string
  text: string
  /** Parts that the carrier has already: only the others are sent, where the text is still cut into as many. */
  taken?: { parts: readonly number[]; total: number }
}
