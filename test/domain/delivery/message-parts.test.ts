import { describe, expect, test } from 'vitest'
import { fitSms } from '../../../src/channels/sms/fit-text.js'
import { planParts } from '../../../src/domain/delivery/message-parts.js'
import { readGsm7, septetsOf } from '../../../src/domain/text/gsm7.js'
import fc from '../../support/generated.js'

const counts = (text: string): [string, number] => [planParts(text).encoding, planParts(text).parts.length]

describe('parts', () => {
  test.each([
    ['a'.repeat(160), 'gsm7', 1],
    ['a'.repeat(161), 'gsm7', 2],
    ['a'.repeat(306), 'gsm7', 2],
    ['a'.repeat(307), 'gsm7', 3],
    // Behind an escape: two septets each.
    ['€'.repeat(80), 'gsm7', 1],
    ['€'.repeat(81), 'gsm7', 2],
    ['ã'.repeat(70), 'ucs2', 1],
    ['ã'.repeat(71), 'ucs2', 2],
    [`${'a'.repeat(139)}ã`, 'ucs2', 3],
    ['😀'.repeat(35), 'ucs2', 1],
    ['😀'.repeat(36), 'ucs2', 2],
    ['Às é ù Ç É ñ ü', 'ucs2', 1],
    ['à é ù Ç É ñ ü ì ò', 'gsm7', 1],
  ])('%j', (text, encoding, parts) => {
    expect(counts(text)).toEqual([encoding, parts])
  })

  test('joined they are the text, none is too long, no character is cut in two', () => {
    const character = fc.oneof(
      fc.constantFrom('a', 'ã', '€', '[', '😀', '\n', 'ç', '@'),
      fc.string({ unit: 'grapheme', maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.array(character, { maxLength: 400 }), characters => {
        const text = characters.join('').toWellFormed()
        const { encoding, parts } = planParts(text)
        expect(parts.join('')).toBe(text)
        const size = (part: string): number =>
          encoding === 'ucs2' ? part.length : [...part].reduce((sum, one) => sum + septetsOf(one)!.length, 0)
        const most = encoding === 'gsm7' ? (parts.length === 1 ? 160 : 153) : parts.length === 1 ? 70 : 67
        for (const part of parts) {
          expect(size(part)).toBeLessThanOrEqual(most)
          expect(part.isWellFormed()).toBe(true)
        }
      }),
    )
  })

  test('every character of the alphabet is read back as it was written', () => {
    for (let code = 0; code < 0x10000; code++) {
      const character = String.fromCharCode(code)
      const septets = septetsOf(character)
      if (septets !== null) expect(readGsm7(Uint8Array.from(septets))).toBe(character)
    }
  })
})

describe('accents', () => {
  test('go where that saves a part, and stay where it does not', () => {
    expect(fitSms('Atenção, João', 'transliterate')).toBe('Atenção, João')
    const long = 'Atenção: a notificação está disponível até amanhã. '.repeat(3)
    expect(fitSms(long, 'transliterate')).toBe('Atencao: a notificacao esta disponivel até amanha. '.repeat(3))
    expect(fitSms(long, 'keep')).toBe(long)
  })

  test('of every Portuguese letter and of what word processors write', () => {
    const text = `áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇ “a” ‘b’ – — … 1º 2ª\u00a0fim ${'x'.repeat(60)}`
    expect(fitSms(text, 'transliterate')).toBe(
      `aàaaéeiooouüçAAAAÉEIOOOUÜÇ "a" 'b' - - ... 1o 2a fim ${'x'.repeat(60)}`.replace('ç', 'c'),
    )
  })

  test('stay all together with a character that has no plain form', () => {
    const text = `${'ação '.repeat(20)}😀`
    expect(fitSms(text, 'transliterate')).toBe(text)
  })

  test('written as letter and mark are one letter', () => {
    expect(fitSms('ac\u0327a\u0303o', 'keep')).toBe('ação')
  })
})
