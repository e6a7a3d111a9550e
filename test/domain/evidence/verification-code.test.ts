import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  makeVerificationCode,
  readVerificationCode,
  showVerificationCode,
} from '../../../src/domain/evidence/verification-code.js'
import { newId } from '../../../src/domain/id.js'

const key = Buffer.alloc(32, 5)
const moments = fc.integer({ min: 0, max: 2 ** 42 - 1 })

test('a code gives the millisecond of the notification, and is of it and of no other', () => {
  fc.assert(
    fc.property(moments, at => {
      const [id, other] = [newId(at), newId(at)]
      const code = makeVerificationCode(key, id)
      expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{16}$/)
      const guess = readVerificationCode(key, showVerificationCode(code))!
      expect([guess.atMs, guess.isOf(id), guess.isOf(other)]).toEqual([
        Number.parseInt(id.replace('-', '').slice(0, 12), 16),
        true,
        false,
      ])
    }),
  )
})

test('any other character makes it a code of nobody, and so does another key', () => {
  const id = newId(1_790_000_000_000)
  const code = makeVerificationCode(key, id)
  for (let place = 0; place < 16; place++) {
    for (const character of '0123456789abcdefghjkmnpqrstvwxyz') {
      const changed = code.slice(0, place) + character + code.slice(place + 1)
      expect(readVerificationCode(key, changed)!.isOf(id)).toBe(changed === code)
    }
  }
  expect(readVerificationCode(Buffer.alloc(32, 6), code)!.isOf(id)).toBe(false)
})

test('the codes of one moment have nothing in common that tells the moment', () => {
  const codes = Array.from({ length: 200 }, () => makeVerificationCode(key, newId(1_790_000_000_000)))
  expect(new Set(codes.map(code => code.slice(0, 4))).size).toBeGreaterThan(190)
})

test('what is typed is read as it was meant; what cannot be a code is none', () => {
  const id = newId(1_790_000_000_000)
  const code = makeVerificationCode(key, id)
  for (const typed of [
    code.toUpperCase(),
    showVerificationCode(code),
    ` ${code} `,
    code.replaceAll('0', 'O').replaceAll('1', 'l'),
  ])
    expect(readVerificationCode(key, typed)?.isOf(id), typed).toBe(true)
  for (const typed of ['', code.slice(1), `${code}0`, `${code.slice(1)}u`, `${code.slice(1)}_`, 'é'.repeat(16)])
    expect(readVerificationCode(key, typed), typed).toBeNull()
})
