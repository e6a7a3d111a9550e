import { expect, test } from 'vitest'
import { channelModules } from '../../src/channels/registry.js'
import { smsSettings } from '../../src/channels/sms/channel.js'
import { completeSettings, coreSettings, type Setting, settingsOf } from '../../src/domain/account.js'

const accountSettings = { ...coreSettings, ...smsSettings }
const allSettings: [string, Setting][] = [coreSettings, ...channelModules.map(({ settings }) => settings)].flatMap(table =>
  Object.entries(table as Record<string, Setting>),
)

test('an account without settings of its own follows the defaults', () => {
  expect(completeSettings({})).toMatchObject({
    validation: false,
    'limit.registered': 6000,
    'limit.unregistered': 120,
  })
  expect(settingsOf(smsSettings, {})).toMatchObject({ 'fallback.minutes': 30 })
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
  ['brand.color', '#0A5C36', '#0a5c36'],
  ['brand.color', '', ''],
  ['link.domain', 'https://avisos.empresa.com.br/', 'https://avisos.empresa.com.br'],
  ['link.domain', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['link.days', '36500', 36_500],
] as const)('%s=%s is read', (name, text, value) => {
  expect(accountSettings[name].read(text)).toBe(value)
})

test.each([
  ['validation', ['', 'TRUE', 'sim', '1', 'true ']],
  ['limit.registered', ['', '0', '-1', '10000001', '1e3', '1.5', 'muitas', ' 1', '99999999999']],
  ['limit.unregistered', ['0', '10000001', '']],
  ['fallback.minutes', ['0', '10081', '30m', '-30']],
  ['brand.name', ['duas\nlinhas', 'x'.repeat(201)]],
  ['brand.color', ['red', '#fff', '#ffcc00', '#12345g', '#0a5c36;}body{']],
  [
    'link.domain',
    ['avisos', 'http://avisos.empresa.com.br', 'https://a.br/x', 'https://a.br?x', 'https://u:s@a.br', 'javascript:x'],
  ],
  ['link.days', ['0', '36501', '-1']],
] as const)('%s refuses what is out of range or unreadable', (name, texts) => {
  for (const text of texts) expect([text, accountSettings[name].read(text)]).toEqual([text, null])
})

test('no two tables declare a setting of the same name', () => {
  const names = allSettings.map(([name]) => name)
  expect(new Set(names).size).toBe(names.length)
})

test.each(allSettings)('the default of %s is a value that the setting accepts, and its meaning is told', (_, setting) => {
  const { default: value, meaning, read } = setting
  expect(read(String(value))).toBe(value)
  expect(meaning).toMatch(/\w{3}/)
})

test.each([
  ['#ffcc00', '1,5'],
  ['#777777', '4,4'],
  ['#ff0000', '3,9'],
])('%s is refused with its contrast, %s, and the cure', (color, ratio) => {
  const { read, explain } = accountSettings['brand.color']
  expect(read(color)).toBeNull()
  expect(explain!(color)).toMatch(new RegExp(`contraste ${ratio} com o branco.*tom mais escuro`))
})

test('the edge of the contrast is where WCAG has it', () => {
  expect(accountSettings['brand.color'].read('#767676')).toBe('#767676')
})
