import { expect, test } from 'vitest'
import { checkDigit, readTrackingCode } from '../../../src/domain/delivery/tracking-code.js'
import fc from '../../support/generated.js'

test('the example of the standard checks, in any spelling', () => {
  for (const text of ['AA473124829BR', 'aa473124829br', ' AA 473124829 BR ', 'AA.473.124.829.BR']) {
    expect(readTrackingCode(text), text).toBe('AA473124829BR')
  }
})

test('remainders of one and none give the digits 0 and 5', () => {
  const serials = Array.from({ length: 200 }, (_, n) => String(n).padStart(8, '0'))
  const sum = (serial: string): number =>
    [8, 6, 4, 2, 3, 5, 9, 7].reduce((total, weight, at) => total + weight * Number(serial[at]), 0)
  for (const serial of serials) {
    const rest = sum(serial) % 11
    expect(checkDigit(serial), serial).toBe(rest === 0 ? 5 : rest === 1 ? 0 : 11 - rest)
  }
})

test('a single misread digit does not pass', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^\d{8}$/), fc.nat(7), fc.integer({ min: 1, max: 9 }), (serial, place, step) => {
      const digit = checkDigit(serial)
      expect(readTrackingCode(`YJ${serial}${digit}BR`)).toBe(`YJ${serial}${digit}BR`)
      // Two remainders share the digit 5: the standard itself cannot tell those apart.
      fc.pre(digit !== 5)
      const misread = serial.replace(/./g, (found, at: number) => (at === place ? String((Number(found) + step) % 10) : found))
      expect(readTrackingCode(`YJ${misread}${digit}BR`)).toBeNull()
    }),
  )
})

test('what is no code is none', () => {
  for (const text of ['', 'AA473124820BR', 'A473124829BR', 'AA47312482BR', 'AA4731248299BR', '473124829']) {
    expect(readTrackingCode(text), text).toBeNull()
  }
})
