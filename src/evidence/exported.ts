import { type Checkpoint, type NoteVerifier, readCheckpoint, readNote, SIGNATURE_BYTES, splitNotes, verifyNote } from './note.js'

/** A checkpoint that left the host, from a file that somebody kept. */
export interface ExportedCheckpoint extends Checkpoint {
  file: string
}

export interface ExportedArchive {
  /** By size. */
  checkpoints: ExportedCheckpoint[]
  /** What is wrong with the files themselves, in Portuguese. */
  faults: string[]
}

/** Reads archives of notes. Half-written notes are passed over; a note that somebody else signed, or nobody, is a fault. */
export function readArchives(files: readonly { name: string; text: string }[], log: NoteVerifier): ExportedArchive {
  const checkpoints: ExportedCheckpoint[] = []
  const faults: string[] = []
  for (const { name: file, text } of files) {
    const found = splitNotes(text).map(note => examine(note, log))
    for (const result of found) {
      if (typeof result === 'string') faults.push(`${file}: ${result}`)
      else if (result !== null) checkpoints.push({ ...result, file })
    }
    if (found.every(result => result === null))
      faults.push(`${file}: não há nenhum checkpoint no arquivo. Informe um arquivo com as notas que o Carteiro exportou.`)
  }
  return { checkpoints: checkpoints.sort((a, b) => a.size - b.size), faults }
}

/** null: not a whole note. */
function examine(text: string, log: NoteVerifier): Checkpoint | string | null {
  const note = readNote(text)
  const checkpoint = note === null ? null : readCheckpoint(note.text)
  if (note === null || checkpoint === null) return null
  const { origin, size } = checkpoint
  if (origin !== log.name) return `o checkpoint de ${size} eventos é de outro registro (${origin}; este é ${log.name})`
  if (verifyNote(note, log) !== null) return checkpoint
  if (note.signatures.some(({ signature }) => signature.length < SIGNATURE_BYTES)) return null
  return `a assinatura do checkpoint de ${size} eventos não confere com a chave ${log.vkey}: ele foi alterado, ou a chave do registro foi trocada`
}
