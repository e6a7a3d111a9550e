import { expect, test } from 'vitest'
import { fitGlyphs, MISSING_MARK } from '../../../src/runtime/typesetting/glyphs.js'

/** Fonts that have everything but these. */
const lacking =
  (...missing: string[]) =>
  (character: string): boolean =>
    !missing.includes(character)

test('ligatures and letters in disguise become letters, what means something stays', () => {
  const { text } = fitGlyphs('o\u0301 ﬁm 𝗕𝗼𝗹𝗱 ＡＢＣ 1½ m² nº 1ª', lacking('ﬁ', '𝗕'))
  expect(text).toBe('ó fim Bold ABC 1½ m² nº 1ª')
})

test('the bullets of word processors become bullets', () => {
  expect(fitGlyphs('\uf0b7 um \uf0fc dois', lacking('\uf0b7')).text).toBe('• um ✓ dois')
})

test.each([
  ['a picture', 'Parabéns 🎉!', `Parabéns ${MISSING_MARK}!`],
  ['a picture of several signs', 'a 👨‍👩‍👧 b', `a ${MISSING_MARK} b`],
  ['a flag', 'a 🇧🇷 b', `a ${MISSING_MARK} b`],
  ['a digit in a key', '1️⃣ primeiro', '1 primeiro'],
  ['a sign of no known font', 'a \uf0c3 b', `a ${MISSING_MARK} b`],
])('%s becomes one visible mark, and nothing around it is lost', (_, given, expected) => {
  const { text, missing } = fitGlyphs(given, lacking('🎉', '👨', '👩', '👧', '🇧', '🇷', '\u20e3', '\uf0c3'))
  expect([text, missing]).toEqual([expected, []])
})

test('letters that cannot be printed are named, at most ten, and never replaced', () => {
  expect(fitGlyphs('Sr. 中村', lacking('中', '村')).missing).toEqual(['中', '村'])
  const many = '一二三四五六七八九十百千'
  expect(fitGlyphs(many, lacking(...many)).missing).toHaveLength(10)
})

test('a receipt is made whatever its words are', () => {
  expect(fitGlyphs('Ref. 中村', lacking('中', '村'), 'marked')).toEqual({
    text: `Ref. ${MISSING_MARK}${MISSING_MARK}`,
    missing: [],
  })
})

test('JSON stays JSON, also where its first character is a sign upon nothing', () => {
  const { text } = fitGlyphs(JSON.stringify({ name: '\u20e3x', other: '🎉' }), lacking('\u20e3', '🎉'))
  expect(JSON.parse(text)).toEqual({ name: 'x', other: MISSING_MARK })
})
