import { expect, test } from 'vitest'
import { fitGlyphs, fitJson, MISSING_MARK } from '../../../src/runtime/typesetting/glyphs.js'

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

const all = (): boolean => true

test('invisible characters that change the direction of a text, or have no use on paper, are left out', () => {
  const given = 'a\u202eb\u202d\u2066c\u2069\u200f\u061c\u180f\u{e0041}'
  expect(fitGlyphs(given, all)).toEqual({ text: 'abc', missing: [] })
  expect(fitGlyphs('co\u00adope\u200bra\u2060ção', all).text).toBe('co\u00adope\u200bra\u2060ção')
})

test('signs of another script are marks in a text with Hebrew, and stay in a text without it', () => {
  expect(fitGlyphs('α\u0375\u0384', all).text).toBe('α\u0375\u0384')
  expect(fitGlyphs('א\u0375\u0384א α', all).text).toBe(`א${MISSING_MARK}${MISSING_MARK}א α`)
  expect(fitGlyphs('אກ\u0eb4', all)).toMatchObject({ missing: ['\u0eb4'] })
  const runs = JSON.stringify(['א', '\u0375\u0384'])
  expect(JSON.parse(fitJson(runs, all, 'marked').text)).toEqual(['א', MISSING_MARK.repeat(2)])
})

test('points of Hebrew stay on its letters, and are marks elsewhere', () => {
  expect(fitGlyphs('שָׁלוֹם', all).text).toBe('שָׁלוֹם'.normalize('NFC'))
  expect(fitGlyphs('a\u05b0\u05b1', all).text).toBe(`a${MISSING_MARK}`)
  expect(fitGlyphs('\u05ef\u05b0\u05b1', lacking('\u05ef'), 'marked').text).toBe(MISSING_MARK)
})

test('control characters are marks, and the ends of lines of all systems are one', () => {
  const json = JSON.stringify({ text: 'sim\u0007\b\\u0007\\b', lines: 'a\r\nb\rc\u2028d\u0085e\vf\fg\th' })
  expect(JSON.parse(fitJson(json, lacking('\u0007', '\b'), 'refused').text)).toEqual({
    text: `sim${MISSING_MARK}${MISSING_MARK}\\u0007\\b`,
    lines: 'a\nb\nc\nd\ne\nf\ng\th',
  })
})

test('an accent at the beginning of a line does not break the JSON', () => {
  const value = ['a\n\u0303b', 'a\t\u0301b', '"\u0301', 1, null]
  expect(JSON.parse(fitJson(JSON.stringify(value), all, 'marked').text)).toEqual(value)
})

test('the letters that a JSON lacks are named once, at most ten', () => {
  expect(fitJson(JSON.stringify(['中', { a: '村中' }]), lacking('中', '村'), 'refused').missing).toEqual(['中', '村'])
  const many = [...'一二三四五六七八九十百千']
  expect(fitJson(JSON.stringify(many), lacking(...many), 'refused').missing).toHaveLength(10)
})
