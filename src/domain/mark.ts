import { createHash } from 'node:crypto'

/**
 * The 16 bits that a short message can carry of its reference (SMPP's user_message_reference), with which part of how many it
 * is. Too few to find a delivery among all, enough to tell the ones to one number apart.
 */
export const MAX_MARKED_PARTS = 8

const hashOf = (reference: string): number => createHash('sha256').update(reference).digest().readUInt16BE(0) & 0x3ff

export const makeMark = (reference: string, part: number, parts: number): number =>
  (hashOf(reference) << 6) | ((parts - 1) << 3) | (part - 1)

/** Which part of the message with this reference a mark speaks of; null: of another message. */
export function readMark(mark: number, reference: string): { part: number; parts: number } | null {
  const part = (mark & 7) + 1
  const parts = ((mark >> 3) & 7) + 1
  return mark >> 6 === hashOf(reference) && part <= parts ? { part, parts } : null
}
