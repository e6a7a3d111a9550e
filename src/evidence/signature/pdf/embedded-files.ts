import { faultText, SignatureFault } from '../fault.js'
import { leavesOf, PdfFile } from './file.js'
import { textOf } from './syntax.js'

export interface EmbeddedFile {
  name: string
  bytes: Buffer
}

/** The files inside a PDF (ISO 32000-1 7.11.4), such as the evidence in an expert report. Throws SignatureFault and nothing else. */
export function embeddedFiles(pdf: Uint8Array): EmbeddedFile[] {
  try {
    return read(new PdfFile(pdf))
  } catch (error) {
    throw new SignatureFault(faultText(error, 'O PDF está danificado e os arquivos dentro dele não se leem.'), { cause: error })
  }
}

function read(file: PdfFile): EmbeddedFile[] {
  const tree = file.dictionary(file.catalog.entries.get('Names'))?.entries.get('EmbeddedFiles')
  const files: EmbeddedFile[] = []
  if (tree === undefined) return files
  for (const { node } of leavesOf(file, [tree], ({ entries }) =>
    entries.has('Kids') ? file.items(entries.get('Kids')) : null,
  )) {
    // Pairs of a key and a file specification.
    const pairs = file.items(node.entries.get('Names'))
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const specification = file.dictionary(pairs[at + 1])
      const bytes = file.stream(file.dictionary(specification?.entries.get('EF'))?.entries.get('F'))
      if (specification === null || bytes === null) continue
      const { entries } = specification
      const name = textOf(file.resolve(entries.get('UF'))) ?? textOf(file.resolve(entries.get('F'))) ?? textOf(pairs[at])
      files.push({ name: name ?? '', bytes })
    }
  }
  return files
}
