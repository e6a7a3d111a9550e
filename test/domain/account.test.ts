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
  ['sender.legalName', ' Aurora Cobranças S.A. ', 'Aurora Cobranças S.A.'],
  ['sender.document', '11.222.333/0001-81', '11222333000181'],
  ['sender.document', '11222333000181', '11222333000181'],
  ['sender.document', '12.abc.345/01de-35', '12ABC34501DE35'],
  ['sender.document', '', ''],
  ['sender.phone', '(11) 3003-1234', '(11) 3003-1234'],
  ['sender.phone', '0800  123 4567', '0800 123 4567'],
  ['sender.phone', '4004-1234', '4004-1234'],
  ['sender.phone', '+55 11 98765-4321', '+55 11 98765-4321'],
  ['sender.phone', '+351 21 123 4567', '+351 21 123 4567'],
  ['sender.site', 'https://WWW.Aurora.com.br/', 'https://www.aurora.com.br'],
  ['sender.site', 'https://aurora.com.br/contato', 'https://aurora.com.br/contato'],
  ['sender.privacy', 'privacidade@Aurora.com.br', 'privacidade@aurora.com.br'],
  ['sender.privacy', 'https://aurora.com.br/privacidade', 'https://aurora.com.br/privacidade'],
  ['sender.privacy', '', ''],
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
  ['sender.legalName', ['duas\nlinhas', 'x'.repeat(201)]],
  [
    'sender.document',
    ['11222333000180', '11.222.333/0001-91', '00000000000000', '1122233300018', 'CNPJ 11222333000181', '12ABC34501DE53'],
  ],
  [
    'sender.phone',
    ['3003', '11 1234-5678', '00 3003-1234', 'ligue 0800 123 4567', '0800\n1234567', '+55 1 2', '<b>11 3003-1234'],
  ],
  [
    'sender.site',
    [
      'aurora.com.br',
      'http://aurora.com.br',
      'https://u:s@aurora.com.br',
      'javascript:alert(1)',
      'https://aurora',
      `https://a.br/${'x'.repeat(200)}`,
    ],
  ],
  ['sender.privacy', ['encarregado', 'a@b', 'mailto:a@b.com.br', 'http://aurora.com.br', 'a@b.com.br, c@d.com.br']],
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
  const { default: value, label, meaning, read } = setting
  expect(read(String(value))).toBe(value)
  for (const text of [label.pt, label.en, meaning.pt, meaning.en]) expect(text).toMatch(/\w{3}/)
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

test('a CNPJ with wrong check digits is refused with the reason and the cure', () => {
  const { explain } = accountSettings['sender.document']
  expect(explain!('11.222.333/0001-80')).toMatch(/^11\.222\.333\/0001-80 não é um CNPJ: os dígitos verificadores.*cartão CNPJ$/)
  expect(explain!('1234')).toBeNull()
})
