import type { KeyObject } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { readId } from '../id.js'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../units.js'

export const modes = ['live', 'test'] as const
export type Mode = (typeof modes)[number]

/** What a caller presents: a JWT signed by this installation. Everything else about the caller is looked up by its id. */
export interface TokenClaims {
  jti: string
  account: string
  mode: Mode
  issuedAt: Date
  expiresAt: Date | null
}

export const TOKEN_ISSUER = 'carteiro'
export const MAX_TOKEN_BYTES = 4096
const ALGORITHM = 'EdDSA'

/** Ed25519 signatures are deterministic: the same claims always give the same token. */
export function signToken(key: KeyObject, claims: TokenClaims): Promise<string> {
  const token = new SignJWT({ mode: claims.mode })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setIssuer(TOKEN_ISSUER)
    .setSubject(claims.account)
    .setJti(claims.jti)
    .setIssuedAt(seconds(claims.issuedAt))
  if (claims.expiresAt !== null) token.setExpirationTime(seconds(claims.expiresAt))
  return token.sign(key)
}

/** The claims of a genuine, unexpired token; the end of a genuine, expired one; else null. Revocation is not known here. */
export async function verifyToken(
  key: KeyObject,
  token: string,
  nowMs: number,
): Promise<TokenClaims | { expiredAt: Date } | null> {
  // jose overlooks white space inside the parts; a token has one spelling.
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [ALGORITHM],
      issuer: TOKEN_ISSUER,
      requiredClaims: ['sub', 'jti', 'iat'],
      currentDate: new Date(nowMs),
    })
    const { mode, exp } = payload
    const jti = readId(payload.jti!)
    const account = readId(payload.sub!)
    if (jti === null || account === null || (mode !== 'live' && mode !== 'test')) return null
    const expiresAt = exp === undefined ? null : new Date(exp * 1000)
    return { jti, account, mode, issuedAt: new Date(payload.iat! * 1000), expiresAt }
  } catch (error) {
    // The claims are read after the signature is checked: only the holder of a genuine token learns that it has expired.
    return error instanceof errors.JWTExpired ? { expiredAt: new Date(error.payload.exp! * 1000) } : null
  }
}

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

/** A lifetime such as 90d, 12h, 30m or 1s in milliseconds, or null. */
export function readLifetime(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const lifetime = Number(count) * { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }[unit as 's' | 'm' | 'h' | 'd']
  return lifetime > 0 ? lifetime : null
}
