import type { Verification } from '../../domain/evidence/verification-code.js'
import type { TypedLink } from '../../domain/recipient/link.js'
import { qrCode } from '../../domain/recipient/qr-code.js'
import type { Block } from '../../runtime/typesetting/blocks.js'
import type { ReceiptImage } from './letter-store.js'

/** The printed content of a letter as data, so that no text can become a command of the typesetter. */
export interface Sheet {
  /** Letters of the first edition have no value here: their headings were larger than the subject, and a copy must look like the printed letter. */
  edition?: 2
  layout: LetterLayout
  /** Printed on every page. */
  reference: string
  sender: {
    name: string
    /** The postal address, for letters that come back. */
    lines: readonly string[]
    /** Who the sender is, for whoever wants to check: at the foot of every page. */
    details: readonly string[]
    color: string
    /** null: the name stands in its place. */
    logo: SheetLogo | null
  }
  recipient: { name: string; lines: readonly string[] }
  date: string
  /** The creation date of the PDF, in seconds since the epoch. */
  moment: number
  subject: string
  blocks: readonly Block[]
}

/** Names a picture by the hash of its bytes, which are stored elsewhere. */
export interface SheetLogo {
  sha256: string
  type: 'png' | 'jpg' | 'svg'
}

/**
 * What a copy of the sheet is for. The QR code and the typed code of the recipient's copy are the recipient's link; the sender's
 * copy must have neither, or the sender could read and confirm in the recipient's place.
 */
export type SheetCopy =
  /** `link`: where the recipient verifies, reads and confirms the letter. `typed` leads to the same page. */
  | { for: 'recipient'; link: string; typed: TypedLink }
  /** `proof`: the address of this copy, which proves nothing about reading. */
  | { for: 'sender'; proof: string; receipt: LetterReceipt }

/** The sheet layouts that `modelo` names. */
export const layouts = ['simples', 'registrada'] as const
export type LetterLayout = (typeof layouts)[number]

/** The history of a letter, printed before it for the sender. */
export interface LetterReceipt {
  facts: readonly { label: string; value: string }[]
  events: readonly { at: string; text: string }[]
  sha256: string
  /** Where anybody verifies the notification. */
  verification: Verification
  /** A simulated carrier: said across every page. */
  simulated: boolean
  /** The signed receipt of delivery, if Correios sent one. */
  image: ReceiptImage | null
}

/** The input of the typesetter: texts, and files by their path. */
export interface SheetInputs {
  /** JSON, JSON, JSON, SVG, SVG or nothing, and the path of a file or nothing. */
  texts: { sheet: string; receipt: string; typed: string; qr: string; verification: string; logo: string }
  files: Record<string, Uint8Array>
  moment: number
}

export function sheetInputs(sheet: Sheet, copy: SheetCopy, logo: Uint8Array | null): SheetInputs {
  const receipt = copy.for === 'sender' ? copy.receipt : null
  const { image = null, ...shown } = receipt ?? {}
  const files: Record<string, Uint8Array> = {}
  const imagePath = image && `/ar.${image.type}`
  if (image !== null) files[imagePath!] = image.bytes
  const named = logo === null ? null : sheet.sender.logo
  const logoPath = named === null ? '' : `/${named.sha256}.${named.type}`
  if (logoPath !== '') files[logoPath] = logo!
  return {
    texts: {
      sheet: JSON.stringify(sheet),
      receipt: JSON.stringify(receipt && { ...shown, image: imagePath }),
      typed: JSON.stringify(copy.for === 'sender' ? null : copy.typed),
      qr: qrCode(copy.for === 'sender' ? copy.proof : copy.link),
      verification: receipt === null ? '' : qrCode(receipt.verification.url),
      logo: logoPath,
    },
    moment: sheet.moment,
    files,
  }
}
