import { expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../../src/domain/evidence/canonical-json.js'
import fc from '../../support/generated.js'

test('RFC 8785 section 3.2.2: literals, numbers and strings have one form', () => {
  const value = JSON.parse(
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
      '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
  )
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

test('RFC 8785 section 3.2.3: members are sorted by UTF-16 code units', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  expect(Object.values(JSON.parse(canonicalJson(value)))).toHaveLength(7)
  expect([...canonicalJson(value).matchAll(/:"([^"]+)"/g)].map(match => match[1])).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ])
})

test.each([
  [0, '0'],
  [-0, '0'],
  [5e-324, '5e-324'],
  [-1.7976931348623157e308, '-1.7976931348623157e+308'],
  [9007199254740992, '9007199254740992'],
  [295147905179352830000, '295147905179352830000'],
  [9.999999999999997e22, '9.999999999999997e+22'],
  [1e23, '1e+23'],
  [999999999999999700000, '999999999999999700000'],
  [1e21, '1e+21'],
  [9.999999999999997e-7, '9.999999999999997e-7'],
  [0.000001, '0.000001'],
  [333333333.3333332, '333333333.3333332'],
])('RFC 8785 appendix B: the number %d is written %s', (value, text) => {
  expect(canonicalJson(value)).toBe(text)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('%d has no canonical form', value => {
  expect(() => canonicalJson({ a: [value] })).toThrow(RangeError)
})

test('keys are sorted at every level, lists keep their order, no space is added', () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }, []], a: {}, aa: null })).toBe('{"a":{},"aa":null,"b":[{"c":2,"d":1},[]]}')
})

test('the order in which members were written does not show, and nothing is lost', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>), object => {
      fc.pre(!JSON.stringify(object).includes('__proto__'))
      const backwards = Object.fromEntries(Object.entries(object).reverse())
      expect(canonicalJson(backwards)).toBe(canonicalJson(object))
      expect(JSON.parse(canonicalJson(object))).toEqual(JSON.parse(JSON.stringify(object)))
    }),
  )
})
