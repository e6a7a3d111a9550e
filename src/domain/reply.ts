import { createHmac, randomBytes, type ScryptOptions, scrypt } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * The reply to a validation question. People type it from memory on a phone, so accents, case, spaces and punctuation
 * do not count; it is kept only as scrypt over an HMAC with a pepper that is not in the database.
 */
const deriveScrypt = promisify<string | Buffer, Buffer, number, ScryptOptions, Buffer>(scrypt)
const COST: ScryptOptions = { N: 16_384, r: 8, p: 1 }

export function normaliseReply(reply: string): string {
  return reply
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}

export async function hashReply(reply: string, pepper: Buffer): Promise<{ salt: string; hash: string }> {
  const salt = randomBytes(16)
  const peppered = createHmac('sha256', pepper).update(normaliseReply(reply)).digest()
  const hash = await deriveScrypt(peppered, salt, 32, COST)
  return { salt: salt.toString('base64'), hash: hash.toString('base64') }
}
