import { V7Generator } from 'uuidv7'
import { takeRandom } from './random.js'

const generator = new V7Generator({ nextUint32: () => takeRandom(4).readUInt32LE() })

/** A UUIDv7 of the given moment, growing within this process. */
export const newId = (atMs: number): string => generator.generateOrResetCore(atMs, 10_000).toString()

/** The id in its stored form, or null when the text is no UUID: paths may carry either case. */
export const readId = (text: string): string | null =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text.toLowerCase() : null

/** The lowest UUID of a millisecond: UUIDv7 are in the order of their first 48 bits. */
export const lowestId = (atMs: number): string =>
  Math.min(Math.max(Math.floor(atMs), 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
    .padEnd(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** No id is lower, and none is higher. */
export const LOWEST_ID = '00000000-0000-0000-0000-000000000000'
export const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
