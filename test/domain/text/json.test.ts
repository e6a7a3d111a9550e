import { expect, test } from 'vitest'
import { Refusal, type RefusalCode } from '../../../src/domain/errors.js'
import { parseUntrustedJson } from '../../../src/domain/text/json.js'
import fc from '../../support/generated.js'

const parse = (text: string): unknown => parseUntrustedJson(Buffer.from(text))

function refusal(raw: string | Uint8Array): RefusalCode | 'accepted' {
  try {
    parseUntrustedJson(typeof raw === 'string' ? Buffer.from(raw) : raw)
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

const nested = (levels: number, open = '[', close = ']'): string => open.repeat(levels) + close.repeat(levels)
/** Above 64 KiB the depth is measured before parsing: every rule is tried on both sides. */
const padding = `"${'x'.repeat(70_000)}"`

test('any JSON value without odd characters is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5, noUnicodeString: false }), text => {
      fc.pre(!text.includes('__proto__') && !text.includes('\\u'))
      expect(parse(text)).toEqual(JSON.parse(text))
    }),
  )
})

test('a byte order mark before the JSON is skipped', () => {
  expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 })
})

test.each([
  ['nothing', '', 'emptyBody'],
  ['white space', ' \r\n', 'notJson'],
  ['a word', 'oi', 'notJson'],
  ['single quotes', "{'a':1}", 'notJson'],
  ['a comma too many', '{"a":1,}', 'notJson'],
  ['half an object', '{"a":', 'notJson'],
  ['two values', '{}{}', 'notJson'],
  ['NaN', '{"a":NaN}', 'notJson'],
  ['a raw line break in a string', '{"a":"\n"}', 'notJson'],
  ['a raw NUL', '{"a":"\0"}', 'notJson'],
  ['an escaped NUL', '{"a":"\\u0000"}', 'badCharacters'],
  ['an escaped NUL in a key', '{"\\u0000":1}', 'badCharacters'],
  ['a high surrogate alone', '{"a":"\\ud83d"}', 'badCharacters'],
  ['a low surrogate alone', '["\\ude00"]', 'badCharacters'],
  ['surrogates in the wrong order', '"\\ude00\\ud83d"', 'badCharacters'],
  ['a lone surrogate in a key', '{"\\ud800":1}', 'badCharacters'],
  ['__proto__', '{"__proto__":{"admin":true}}', 'protoKey'],
  ['__proto__ deep inside', '{"a":[{"b":{"__proto__":1}}]}', 'protoKey'],
  ['__proto__ in escapes', '{"\\u005f_proto__":1}', 'protoKey'],
  ['a number that no double holds', '{"a":1e400}', 'numberTooLarge'],
  ['a negative number that no double holds', '[-1e309]', 'numberTooLarge'],
] as const)('%s is refused', (_, text, code) => {
  expect(refusal(text)).toBe(code)
})

test.each([
  ['a surrogate pair in escapes', '{"a":"\\ud83d\\ude00"}', { a: '😀' }],
  ['constructor and prototype as keys', '{"constructor":1,"prototype":2}', { constructor: 1, prototype: 2 }],
  ['a text that only looks like an escape', '{"a":"\\\\u0000"}', { a: '\\u0000' }],
  ['the largest double', '{"a":1.7976931348623157e308}', { a: Number.MAX_VALUE }],
])('%s passes', (_, text, value) => {
  expect(parse(text)).toEqual(value)
})

test.each([
  ['a stray continuation byte', [0x22, 0x80, 0x22]],
  ['an overlong form', [0x22, 0xc0, 0x80, 0x22]],
  ['a surrogate written in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['UTF-16', [...Buffer.from('\ufeff{}', 'utf16le')]],
  ['Latin-1', [0x22, 0xe3, 0x22]],
])('%s is not UTF-8', (_, bytes) => {
  expect(refusal(Uint8Array.from(bytes))).toBe('notUtf8')
})

test.each([
  ['small', (text: string) => text],
  ['large', (text: string) => `[${padding},${text}]`],
])('32 levels pass and 33 do not, in a %s body', (size, wrap) => {
  const spare = size === 'large' ? 1 : 0
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const levels = (count: number): string => wrap(nested(count - spare, open, close).replace('":}', '":1}'))
    expect(refusal(levels(32))).toBe('accepted')
    expect(refusal(levels(33))).toBe('tooDeep')
    expect(refusal(levels(7_000))).toBe('tooDeep')
  }
})

test('brackets, quotes and backslashes inside strings are no levels', () => {
  const strings = ['['.repeat(40), '\\', '\\\\"[[', '"'.repeat(40), '{'.repeat(40)].map(text => JSON.stringify(text)).join(',')
  expect(refusal(`[${strings}]`)).toBe('accepted')
  expect(refusal(`[${padding},${strings},${nested(31)}]`)).toBe('accepted')
  expect(refusal(`[${padding},${strings},${nested(32)}]`)).toBe('tooDeep')
})

test('levels that were closed do not count', () => {
  expect(refusal(`[${padding},${Array(1_000).fill(nested(20)).join(',')}]`)).toBe('accepted')
})

test('a body that only opens is refused without being built', () => {
  expect(refusal('['.repeat(1_000_000))).toBe('tooDeep')
  expect(refusal('{"a":'.repeat(200_000))).toBe('tooDeep')
})

test('a string that never ends, and brackets that close too often, are no JSON', () => {
  expect(refusal(`["${'x'.repeat(70_000)}`)).toBe('notJson')
  expect(refusal(`[${padding}${']'.repeat(50)}`)).toBe('notJson')
  expect(refusal(`[${padding.slice(0, -1)}\\`)).toBe('notJson')
})

test('a large body of a great many values is refused without being built; commas and brackets in strings are no values', () => {
  expect(refusal(`[${'1,'.repeat(249_999)}1]`)).toBe('accepted')
  expect(refusal(`[${'1,'.repeat(250_000)}1]`)).toBe('tooComplex')
  expect(refusal(`[${'{},'.repeat(150_000)}{}]`)).toBe('tooComplex')
  expect(refusal(JSON.stringify({ a: '{},[]'.repeat(200_000) }))).toBe('accepted')
})
