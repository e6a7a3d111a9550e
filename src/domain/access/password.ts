import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { MIB } from '../units.js'

/** OWASP's choice for scrypt: 32 MiB and some 80 ms of one of Node's threads for each guess. */
const COST = { N: 32_768, r: 8, p: 1 }
const SALT_BYTES = 16
const KEY_BYTES = 32
export const MIN_PASSWORD = 12
export const MAX_PASSWORD = 200

/** scrypt$N$r$p$salt$key: the parameters travel with the hash, so that later ones can be stronger. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const key = await derive(password, salt, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

/** `stored` null: there is no such operator. The same work is done, so that the time does not tell. */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [, N, r, p, salt, key] = (stored ?? NOBODY).split('$')
  const expected = Buffer.from(key!, 'base64url')
  const given = await derive(password, Buffer.from(salt!, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) })
  return timingSafeEqual(given, expected) && stored !== null
}

const NOBODY = `scrypt$${COST.N}$${COST.r}$${COST.p}$${Buffer.alloc(SALT_BYTES).toString('base64url')}$${Buffer.alloc(KEY_BYTES).toString('base64url')}`

/** Passwords that anyone would try first, and those made of the person's own name or address. */
export function isGuessable(password: string, about: readonly string[]): boolean {
  const plain = password.toLowerCase()
  if (new Set(plain).size < 5 || /^(\d+|0123|abcd|qwert|senha|password|carteiro)[\d!@#.]*$/.test(plain)) return true
  return about.some(text => text.length >= 4 && plain.replaceAll(text.toLowerCase(), '').length < 6)
}

/** NFKC: the same password typed on another keyboard is the same password (RFC 8265). */
const derive = (password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, { ...cost, maxmem: 256 * MIB }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    ),
  )
