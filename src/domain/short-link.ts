import { createHmac } from 'node:crypto'
import type { LinkTarget } from './link.js'

/**
 * Short codes, for messages where every character counts. Ten characters are 50 bits: too few to stand alone, so they are
 * stored, and guesses at them are counted and locked out (engine/short-links.ts).
 */
const SHORT_CODE_LENGTH = 10
/** Crockford's base 32: no i, l, o or u, so that what is read aloud or copied by hand has one reading. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Always the same for the same target and round; a later round is asked for only where another target holds the code. */
export function makeShortCode(key: Buffer, { notification, channel }: LinkTarget, round: number): string {
  const digest = createHmac('sha256', key).update(`short ${notification} ${channel} ${round}`).digest()
  return Array.from(digest.subarray(0, SHORT_CODE_LENGTH), byte => ALPHABET[byte % ALPHABET.length]).join('')
}

/**
 * The code as stored: case and the letters that are mistaken for digits do not count. Whatever no code can hold becomes a
 * hyphen, so that any text at all is looked up in the same way.
 */
export const readShortCode = (text: string): string =>
  text
    .slice(0, SHORT_CODE_LENGTH + 1)
    .toLowerCase()
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1')
    .replaceAll(/[^0-9a-z]/g, '-')
