import { V7Generator } from 'uuidv7'
import { takeRandom } from './random.js'

const generator = new V7Generator({ nextUint32: () => takeRandom(4).readUInt32LE() })

/** A UUIDv7 of the given moment, growing within this process. */
export const newId = (atMs: number): string => generator.generateOrResetCore(atMs, 10_000).toString()

/** The id in its stored form, or null when the text is no UUID: paths may carry either case. */
export const readId = (text: string): string | null =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text.toLowerCase() : null
