import { expect, test } from 'vitest'
import {
  newTotpSecret,
  readTotpCode,
  readTotpSecret,
  totpCode,
  totpPeriod,
  totpUri,
  writeTotpSecret,
} from '../../../src/domain/access/totp.js'

/** RFC 6238, appendix B, SHA-1: the last six of its eight digits. */
const secret = Buffer.from('12345678901234567890')
const vectors: readonly [seconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

test.each(vectors)('RFC 6238: the code at %i s is %s', (seconds, code) => {
  expect(totpCode(secret, totpPeriod(seconds * 1000))).toBe(code)
  expect(readTotpCode(secret, code, seconds * 1000, 0)).toBe(Math.floor(seconds / 30))
})

test('a code counts one period early or late, no further, and never again once it was used', () => {
  const now = 1_234_567_890_000
  const period = totpPeriod(now)
  const codeAt = (offset: number): string => totpCode(secret, period + offset)
  expect([-2, -1, 0, 1, 2].map(offset => readTotpCode(secret, codeAt(offset), now, 0))).toEqual([
    null,
    period - 1,
    period,
    period + 1,
    null,
  ])
  expect(readTotpCode(secret, codeAt(0), now, period)).toBeNull()
  expect(readTotpCode(secret, codeAt(-1), now, period)).toBeNull()
  expect(readTotpCode(secret, codeAt(1), now, period)).toBe(period + 1)
  for (const wrong of ['', '5924', '0005924', ' 05924', '005924 ']) expect(readTotpCode(secret, wrong, now, 0), wrong).toBeNull()
})

test('a secret is Base32 as apps read it (RFC 4648), and goes there and back', () => {
  expect(writeTotpSecret(secret)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  for (let round = 0; round < 50; round++) {
    const made = newTotpSecret()
    expect(readTotpSecret(writeTotpSecret(made))).toEqual(made)
  }
  for (const bad of ['', 'GEZDGNBVGY3TQOJQ', 'gezdgnbvgy3tqojqgezdgnbvgy3tqojq', '1EZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'])
    expect(readTotpSecret(bad), bad).toBeNull()
  expect(totpUri(secret, 'ana+x@example.com', 'Carteiro')).toBe(
    'otpauth://totp/Carteiro:ana%2Bx%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Carteiro',
  )
})
