import type { PackedContent } from '../domain/delivery/sent-content.js'
import type { BlockWriter } from '../runtime/byte-block.js'

/** A packed content on its way between threads: its bytes and its salt are the next two parts of a block. */
export type PackedHead = Omit<PackedContent, 'bytes' | 'salt'>

export function writePacked(writer: BlockWriter, { bytes, salt, ...head }: PackedContent): PackedHead {
  writer.bytes(bytes)
  writer.endPart()
  if (salt !== null) writer.bytes(salt)
  writer.endPart()
  return head
}

/** An empty part in place of the salt: there is none. */
export const readPacked = (head: PackedHead, bytes: Buffer, salt: Buffer): PackedContent =>
  Object.assign(head, { bytes, salt: salt.length === 0 ? null : salt })
