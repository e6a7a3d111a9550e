import { createHash, hash } from 'node:crypto'
import { setImmediate as letOthersRun } from 'node:timers/promises'

/** About a millisecond of hashing. */
const PIECE = 262_144

/** SHA-256 of any number of bytes, in hexadecimal. Large ones are hashed in pieces, so that the event loop is not blocked. */
export async function digest(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= PIECE) return hash('sha256', bytes, 'hex')
  const sum = createHash('sha256')
  for (let at = 0; at < bytes.length; at += PIECE) {
    sum.update(bytes.subarray(at, at + PIECE))
    await letOthersRun()
  }
  return sum.digest('hex')
}
