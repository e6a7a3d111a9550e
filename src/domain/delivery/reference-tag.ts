import { createHash } from 'node:crypto'

export const MAX_TAGGED_PARTS = 8

const hashOf = (reference: string): number => createHash('sha256').update(reference).digest().readUInt16BE(0) & 0x3ff

/**
 * A reference tag: the 16 bits of our reference that a short message can carry (SMPP's user_message_reference), and that the
 * carrier's report gives back. Ten bits are a hash of the reference, six say which part of how many it is. That is too few to
 * find a delivery among all, and enough to tell apart the deliveries to one number.
 */
export const makeTag = (reference: string, part: number, parts: number): number =>
  (hashOf(reference) << 6) | ((parts - 1) << 3) | (part - 1)

/** Which part of the message with this reference a tag names; null: the tag is of another message. */
export function readTag(tag: number, reference: string): { part: number; parts: number } | null {
  const part = (tag & 7) + 1
  const parts = ((tag >> 3) & 7) + 1
  return tag >> 6 === hashOf(reference) && part <= parts ? { part, parts } : null
}
