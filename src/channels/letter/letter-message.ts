import type { PostalAddress } from './postal-address.js'

/** One letter, ready for the printer. */
export interface LetterMessage {
  /** The same at every try: the printer's name for it, so that nothing is printed twice. */
  reference: string
  /** As the layouts of sheets are called. */
  layout: string
  subject: string
  recipient: { name: string; address: PostalAddress }
  sender: { name: string; address: PostalAddress | null }
  pdf: Uint8Array
  sha256: string
  pages: number
}
