import type { SentContent } from '../../domain/delivery/sent-content.js'
import { canonicalJson, type Json } from '../../domain/evidence/canonical-json.js'
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
  /** The printed content as data (sheet.ts), without the recipient's link. */
  sheet: Json
}

/**
 * The PDF, which is a blob already. The link is in it as a picture and as outlines of letters, which cannot be hidden: the sender's copy is
 * the sheet that the PDF was made of.
 */
export const letterContent = ({ pdf, sha256, sheet }: LetterMessage): SentContent => ({
  type: 'application/pdf',
  extension: 'pdf',
  bytes: pdf,
  files: [{ at: 0, length: pdf.length, sha256, encoding: 'none' }],
  copy: { type: 'application/json', extension: 'json', bytes: Buffer.from(canonicalJson(sheet)) },
})

/** More than a core can typeset while a carrier answers, and few enough that the last is made long before its lease ends. */
export const LETTERS_AT_ONCE = 50
