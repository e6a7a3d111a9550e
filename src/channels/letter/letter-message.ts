import type { PostalAddress } from './postal-address.js'

/** One letter, ready for the printer. */
export interface LetterMessage {
  /** The same at every attempt: the printer's idempotency key, so that nothing is printed twice. */
  reference: string
  layout: string
  subject: string
  recipient: { name: string; address: PostalAddress }
  sender: { name: string; address: PostalAddress | null }
  pdf: Uint8Array
  sha256: string
  pages: number
}

/** More than a core can typeset while a carrier answers, and few enough that the last is made long before its lease ends. */
export const LETTERS_AT_ONCE = 50
