import { expect, test } from 'vitest'
import { expectReference, makeReference, readReference } from '../../../src/domain/delivery/reference.js'

const notification = '0190a3c2-7b1e-7000-8000-000000000001'

test('a reference is read as it was made', () => {
  for (const ordinal of [1, 2, 9_999]) {
    const named = { notification, channel: 'sms', ordinal }
    expect(readReference(makeReference(named))).toEqual(named)
    expect(expectReference(makeReference(named))).toEqual(named)
  }
  expect(makeReference({ notification, channel: 'sms', ordinal: 2 })).toBe(`${notification}.sms.2`)
})

test.each([
  '',
  'r.sms.1',
  notification,
  `${notification}.sms`,
  `${notification}.sms.`,
  `${notification}.sms.x`,
  `${notification}.sms.10000`,
  `${notification}.SMS.1`,
  `${notification}.sms.1.1`,
  `${notification}.sms.1@example.com`,
  ` ${notification}.sms.1`,
  `${notification}.sms.1\n`,
  `${'-'.repeat(36)}.sms.1`,
])('%j is not a reference of ours', text => {
  expect(readReference(text)).toBeNull()
  expect(() => expectReference(text)).toThrow('not a reference of ours')
})
