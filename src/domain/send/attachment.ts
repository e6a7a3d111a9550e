import { refuse } from '../errors.js'
import { sha256 } from '../evidence/evidence.js'
import { countCharacters, mebibytes } from '../text/text.js'

export interface Attachment {
  name: string
  bytes: Uint8Array
  /** Hexadecimal; the key under which the content is stored. */
  sha256: string
}

export interface AttachmentLimits {
  maxFiles: number
  maxFileBytes: number
  maxTotalBytes: number
}

export function readAttachments(files: readonly { name: string; base64: string }[], limits: AttachmentLimits): Attachment[] {
  if (files.length > limits.maxFiles) refuse('tooManyFiles', String(limits.maxFiles))
  let total = 0
  return files.map((file, index) => {
    const field = `attachments[${index}]`
    if (!isPlainFileName(file.name)) refuse('badFileName', `${field}.name`)
    const bytes = decodeBase64(file.base64, `${field}.base64`, limits.maxFileBytes)
    total += bytes.length
    if (total > limits.maxTotalBytes) refuse('filesTooLarge', mebibytes(limits.maxTotalBytes))
    return { name: file.name, bytes, sha256: sha256(bytes) }
  })
}

/** No path, no control character, and none of the bidirectional marks that make "exe.pdf" out of "fdp.exe". */
const isPlainFileName = (name: string): boolean =>
  countCharacters(name) <= 255 &&
  !/^\.\.?$|[/\\\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/.test(name)

function decodeBase64(text: string, field: string, maxBytes: number): Uint8Array {
  if (/^\s*data:/i.test(text)) refuse('dataPrefix', field)
  const compact = /\s/.test(text) ? text.replace(/[\r\n\t ]+/g, '') : text
  if (compact.length === 0 || compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) refuse('badBase64', field)
  const padding = compact.endsWith('==') ? 2 : compact.endsWith('=') ? 1 : 0
  if ((compact.length / 4) * 3 - padding > maxBytes) refuse('fileTooLarge', field, mebibytes(maxBytes))
  // A buffer of its own, not a slice of Node's shared pool: it may be handed over to another thread.
  const bytes = new Uint8Array((compact.length / 4) * 3 - padding)
  Buffer.from(bytes.buffer).write(compact, 'base64')
  return bytes
}
