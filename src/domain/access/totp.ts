import { createHmac, randomBytes } from 'node:crypto'
import { isSameSecret } from './secret.js'

const PERIOD_MS = 30_000
const SECRET_BYTES = 20
const SYMBOLS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export const newTotpSecret = (): Buffer => randomBytes(SECRET_BYTES)

/** Base32 (RFC 4648) without padding, as people type it. */
export function writeTotpSecret(secret: Buffer): string {
  const bits = [...secret].map(byte => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map(five => SYMBOLS[Number.parseInt(five, 2)]).join('')
}

/** null: it is none of ours. */
export function readTotpSecret(text: string): Buffer | null {
  if (!/^[A-Z2-7]{32}$/.test(text)) return null
  const bits = [...text].map(symbol => SYMBOLS.indexOf(symbol).toString(2).padStart(5, '0')).join('')
  return Buffer.from(bits.match(/.{8}/g)!.map(byte => Number.parseInt(byte, 2)))
}

export const totpUri = (secret: Buffer, email: string, issuer: string): string =>
  `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(email)}?secret=${writeTotpSecret(secret)}&issuer=${encodeURIComponent(issuer)}`

/** A one-time code by time (RFC 6238) as all authenticator apps make it: SHA-1, 30 s, six digits. */
export function totpCode(secret: Buffer, period: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(period))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac[19]! & 15
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0')
}

export const totpPeriod = (nowMs: number): number => Math.floor(nowMs / PERIOD_MS)

/** The period of the code; null: it is wrong, or not newer than the latest one that was accepted. One period early or late is allowed. */
export function readTotpCode(secret: Buffer, code: string, nowMs: number, latest: number): number | null {
  const now = totpPeriod(nowMs)
  const found = [now - 1, now, now + 1].find(period => period > latest && isSameSecret(code, totpCode(secret, period)))
  return found ?? null
}
