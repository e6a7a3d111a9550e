import { expect, test } from 'vitest'
import { accountSettings, completeSettings, settingNames } from '../../src/domain/account.js'

test('an account without settings of its own follows the defaults', () => {
  expect(completeSettings({})).toMatchObject({
    validation: false,
    'limit.registered': 6000,
    'limit.unregistered': 120,
    'fallback.minutes': 30,
  })
})

test('what is stored wins over the default, one setting at a time', () => {
  expect(completeSettings({ validation: true, 'limit.unregistered': 5 })).toEqual({
    ...completeSettings({}),
    validation: true,
    'limit.unregistered': 5,
  })
})

test.each([
  ['validation', 'true', true],
  ['validation', 'false', false],
  ['limit.registered', '1', 1],
  ['limit.registered', '10000000', 10_000_000],
  ['limit.unregistered', '120', 120],
  ['fallback.minutes', '1', 1],
  ['fallback.minutes', '10080', 10_080],
] as const)('%s=%s is read', (name, text, value) => {
  expect(accountSettings[name].read(text)).toBe(value)
})

test.each([
  ['validation', ['', 'TRUE', 'sim', '1', 'true ']],
  ['limit.registered', ['', '0', '-1', '10000001', '1e3', '1.5', 'muitas', ' 1', '99999999999']],
  ['limit.unregistered', ['0', '10000001', '']],
  ['fallback.minutes', ['0', '10081', '30m', '-30']],
] as const)('%s refuses what is out of range or unreadable', (name, texts) => {
  for (const text of texts) expect([text, accountSettings[name].read(text)]).toEqual([text, null])
})

test.each(settingNames)('the default of %s is a value that the setting accepts, and its meaning is told', name => {
  const { default: value, meaning, read } = accountSettings[name]
  expect(read(String(value))).toBe(value)
  expect(meaning).toMatch(/\w{3}/)
})
