import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares hashes, which have equal lengths, in constant time. */
export const isSameSecret = (given: string | Buffer, expected: string | Buffer): boolean =>
  timingSafeEqual(digest(given), digest(expected))

const digest = (secret: string | Buffer): Buffer => createHash('sha256').update(secret).digest()
