import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { deriveKeys } from '../../../src/domain/access/keys.js'
import { readLifetime, signToken, type TokenClaims, verifyToken } from '../../../src/domain/access/token.js'
import { newId } from '../../../src/domain/id.js'

const keys = deriveKeys(Buffer.alloc(32, 1))
const now = Date.UTC(2026, 6, 18, 4, 1, 32)
const claims: TokenClaims = {
  jti: '019813c4-5a00-7000-8000-000000000001',
  account: '019813c4-5a00-7000-8000-00000000000a',
  mode: 'live',
  issuedAt: new Date(now),
  expiresAt: null,
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** A token with any header and payload, really signed unless a signature is given. */
function forge(payload: object, header: object = { alg: 'EdDSA', typ: 'JWT' }, key: KeyObject = keys.tokenSigning): string {
  const signed = `${encode(header)}.${encode(payload)}`
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}
const payload = { iss: 'carteiro', sub: claims.account, jti: claims.jti, iat: now / 1000, mode: 'live' }

test('a token that was signed gives its claims back', async () => {
  expect(await verifyToken(keys.tokenVerifying, await signToken(keys.tokenSigning, claims), now)).toEqual(claims)
  const test_: TokenClaims = { ...claims, mode: 'test', expiresAt: new Date(now + 1_000) }
  expect(await verifyToken(keys.tokenVerifying, await signToken(keys.tokenSigning, test_), now)).toEqual(test_)
})

test('the same claims give the same token', async () => {
  expect(await signToken(keys.tokenSigning, claims)).toBe(await signToken(keys.tokenSigning, { ...claims }))
})

test('the forge of these tests makes a genuine token when it is given genuine parts', async () => {
  expect(await verifyToken(keys.tokenVerifying, forge(payload), now)).toEqual(claims)
})

test('a token holds until its expiry, and not at it', async () => {
  const token = await signToken(keys.tokenSigning, { ...claims, expiresAt: new Date(now + 90_000) })
  expect(await verifyToken(keys.tokenVerifying, token, now + 89_000)).toMatchObject({ jti: claims.jti })
  expect(await verifyToken(keys.tokenVerifying, token, now + 90_000)).toEqual({ expiredAt: new Date(now + 90_000) })
})

test('a forged token does not learn that it has expired', async () => {
  const expired = { ...payload, exp: now / 1000 - 60 }
  expect(await verifyToken(keys.tokenVerifying, forge(expired), now)).toEqual({ expiredAt: new Date(now - 60_000) })
  const { tokenSigning } = deriveKeys(Buffer.alloc(32, 2))
  expect(await verifyToken(keys.tokenVerifying, forge(expired, undefined, tokenSigning), now)).toBe(null)
})

test('ids in upper case are read in their stored form', async () => {
  const token = forge({ ...payload, jti: claims.jti.toUpperCase(), sub: claims.account.toUpperCase() })
  expect(await verifyToken(keys.tokenVerifying, token, now)).toEqual(claims)
})

test.each<[string, () => string | Promise<string>]>([
  ['nothing', () => ''],
  ['no token', () => 'oi'],
  ['a prefix', async () => `Bearer ${await signToken(keys.tokenSigning, claims)}`],
  ['a space after it', async () => `${await signToken(keys.tokenSigning, claims)} `],
  ['a cut signature', () => forge(payload).slice(0, -4)],
  ['no signature', () => `${forge(payload).split('.').slice(0, 2).join('.')}.`],
  [
    'another payload under the signature',
    () => forge(payload).replace(/\.[^.]+\./, `.${encode({ ...payload, sub: newId(now) })}.`),
  ],
  ["another installation's key", () => forge(payload, undefined, deriveKeys(Buffer.alloc(32, 2)).tokenSigning)],
  ['alg none', () => `${encode({ alg: 'none' })}.${encode(payload)}.`],
  ['alg nOnE', () => `${encode({ alg: 'nOnE' })}.${encode(payload)}.`],
  [
    'HS256 over the public key',
    () => {
      const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`
      const secret = keys.tokenVerifying.export({ format: 'pem', type: 'spki' })
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
    },
  ],
  [
    'a key of its own in the header',
    () => {
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      return forge(payload, { alg: 'EdDSA', jwk: publicKey.export({ format: 'jwk' }) }, privateKey)
    },
  ],
  ['an unknown critical header', () => forge(payload, { alg: 'EdDSA', crit: ['x'], x: 1 })],
  ['another issuer', () => forge({ ...payload, iss: 'outro' })],
  ['no issuer', () => forge({ ...payload, iss: undefined })],
  ['no account', () => forge({ ...payload, sub: undefined })],
  ['an account that is no id', () => forge({ ...payload, sub: "' or 1=1" })],
  ['no jti', () => forge({ ...payload, jti: undefined })],
  ['a jti that is no id', () => forge({ ...payload, jti: '1' })],
  ['a jti that is no text', () => forge({ ...payload, jti: 7 })],
  ['no iat', () => forge({ ...payload, iat: undefined })],
  ['an iat that is no number', () => forge({ ...payload, iat: 'ontem' })],
  ['no mode', () => forge({ ...payload, mode: undefined })],
  ['a mode of its own', () => forge({ ...payload, mode: 'admin' })],
  ['an expiry that is no number', () => forge({ ...payload, exp: 'nunca' })],
  ['a time before which it does not hold', () => forge({ ...payload, nbf: now / 1000 + 60 })],
  ['a payload that is no object', () => forge([payload])],
])('a token with %s is refused', async (_, make) => {
  expect(await verifyToken(keys.tokenVerifying, await make(), now)).toBe(null)
})

test.each([
  ['90d', 7_776_000_000],
  ['12h', 43_200_000],
  ['30m', 1_800_000],
  ['1s', 1_000],
])('the lifetime %s is %d milliseconds', (text, milliseconds) => {
  expect(readLifetime(text)).toBe(milliseconds)
})

test.each(['', '0d', '90', 'd', '1w', '1.5h', '-1d', ' 1d', '1 d', '1234567d', '90D'])('%s is no lifetime', text => {
  expect(readLifetime(text)).toBe(null)
})
