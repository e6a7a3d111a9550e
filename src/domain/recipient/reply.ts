import { createHmac, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
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
  const hash = await derive(reply, salt, pepper)
  return { salt: salt.toString('base64'), hash: hash.toString('base64') }
}

/** Takes the same time whether the reply is right or wrong. */
export async function matchesReply(reply: string, stored: { salt: string; hash: string }, pepper: Buffer): Promise<boolean> {
  const hash = await derive(reply, Buffer.from(stored.salt, 'base64'), pepper)
  return timingSafeEqual(hash, Buffer.from(stored.hash, 'base64'))
}

const derive = (reply: string, salt: Buffer, pepper: Buffer): Promise<Buffer> =>
  deriveScrypt(createHmac('sha256', pepper).update(normaliseReply(reply)).digest(), salt, 32, COST)
