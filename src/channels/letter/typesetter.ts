import {
  createTypesetter as createSharedTypesetter,
  type Typesetter as SharedTypesetter,
} from '../../runtime/typesetting/typesetter.js'
import { type Sheet, type SheetCopy, sheetInputs } from './sheet.js'
import { SHEET_SOURCE } from './sheet-source.js'

/** Typesets letters as PDF, in the threads that all documents are typeset in. */
export interface Typesetter extends Pick<SharedTypesetter, 'read' | 'close'> {
  /**
   * The same sheet, copy and logo yield the same bytes. Throws TypesettingError for an impossible content, OutOfTime after the
   * timeout. `logo`: the bytes of the logo that the sheet names.
   */
  compose(sheet: Sheet, copy: SheetCopy, logo?: Uint8Array | null): Promise<ComposedLetter>
}

interface ComposedLetter {
  pdf: Uint8Array
  pages: number
  /** Why the logo is not in it: the name stands in its place. */
  logoFault: string | null
}

export function createTypesetter(...options: Parameters<typeof createSharedTypesetter>): Typesetter {
  const { read, compose, close } = createSharedTypesetter(...options)
  return {
    read,
    close,
    async compose(sheet, copy, logo = null) {
      const { texts: inputs, files, moment } = sheetInputs(sheet, copy, logo)
      const { pdf, pages, pictureFault } = await compose({
        source: SHEET_SOURCE,
        inputs,
        // A letter never drops a letter or digit; a receipt's texts are stored elsewhere too.
        fitted: { sheet: 'refused', receipt: 'marked' },
        picture: 'logo',
        files,
        moment,
        standard: 'a-2b',
      })
      return { pdf, pages, logoFault: pictureFault }
    },
  }
}
