import { mapMembers } from '../../domain/text/text.js'

/** Stands in a printed text for a character that the fonts lack. */
export const MISSING_MARK = '□'

/** Bullets and arrows that word processors put in the private use area of Unicode (Symbol and Wingdings fonts). */
const WORD_SYMBOLS: Readonly<Record<string, string>> = {
  '\uf0b7': '•',
  '\uf0a7': '▪',
  '\uf076': '❖',
  '\uf0d8': '➢',
  '\uf0e0': '→',
  '\uf0e8': '➔',
  '\uf0fc': '✓',
  '\uf0fe': '☑',
  '\uf0a8': '☐',
}

/**
 * Invisible characters other than those that join characters or say where a line may end. The typesetter aborts the whole process at some
 * that change the direction of a text, and PDF/A refuses some that are newer than the typesetter.
 */
const NEEDLESS = /(?![\u00ad\u200b-\u200d\u2060\ufeff])\p{Default_Ignorable_Code_Point}/gu
/** Ends of lines other than the one that the typesetter always understands. Beside an invisible character PDF/A refuses them. */
const LINE_ENDS = /\r\n?|[\v\f\u0085\u2028\u2029]/g
/** Ligatures, mathematical signs and full-width forms, which mean the plain character. Not ½ or ², which have their own meaning. */
const COMPATIBLE = /[\ufb00-\ufb06\ufb29\uff01-\uff5e]|[\u{1d400}-\u{1d7ff}]/gu
/**
 * The typesetter aborts the whole process where signs of a script stand in a text of the other direction. Hebrew is the only script from
 * right to left that the fonts have: its points are safe on its letters, and the signs of other scripts are safe in a text without it.
 */
const HEBREW = /\p{Script=Hebrew}/u
const STRAY_POINTS = /(?<!\p{Script=Hebrew})(?:(?=\p{Script=Hebrew})\p{M})+/gu
const SIGN_OF_SCRIPT = /^(?![\p{Script=Common}\p{Script=Inherited}\p{Script=Hebrew}])[\p{M}\p{S}\p{P}]$/u
/** Every face of the sheet's fonts has these characters. */
const COMMON = /^[\t\n\u0020-\u007e\u00a0-\u00ff]$/
const WRITTEN = /^[\p{L}\p{N}\p{Mn}\p{Mc}]$/u
/** Joins other characters or selects their form, and has no glyph itself. */
const INVISIBLE = /^\p{Default_Ignorable_Code_Point}$/u
/** Enough for the sender to understand the problem; a page in another script need not be checked to its end. */
const MAX_NAMED = 10

const graphemes = new Intl.Segmenter('pt-BR', { granularity: 'grapheme' })

/**
 * Makes a text printable that has characters which the fonts lack. Symbols and emoji are replaced by a mark. A letter or digit is never
 * dropped; `letters` decides about those that the fonts lack: they are returned as missing, so that the text is refused and names them,
 * or marked in a receipt, because its texts are stored elsewhere too. `hasHebrew`: the text may stand beside one in Hebrew.
 */
export function fitGlyphs(
  given: string,
  canRender: (character: string) => boolean,
  letters: 'refused' | 'marked' = 'refused',
  hasHebrew = HEBREW.test(given),
): { text: string; missing: string[] } {
  const text = given
    .replace(NEEDLESS, '')
    .replace(LINE_ENDS, '\n')
    .normalize('NFC')
    .replace(COMPATIBLE, character => character.normalize('NFKC'))
    .replace(/[\uf000-\uf0ff]/g, character => WORD_SYMBOLS[character] ?? character)
  const isSafe = (character: string): boolean => !hasHebrew || !SIGN_OF_SCRIPT.test(character)
  const bad = new Set<string>()
  const missing: string[] = []
  for (const character of new Set(text)) {
    if (COMMON.test(character) || INVISIBLE.test(character) || (isSafe(character) && canRender(character))) continue
    bad.add(character)
    if (letters === 'refused' && WRITTEN.test(character) && missing.push(character) === MAX_NAMED) break
  }
  if (missing.length > 0) return { text, missing }
  const fitted =
    bad.size === 0 ? text : Array.from(graphemes.segment(text), ({ segment }) => replaceMissing(segment, bad)).join('')
  return { text: fitted.replace(STRAY_POINTS, MISSING_MARK), missing }
}

/** Fits every text of a JSON. One after the other: in JSON the letter of an escape would take up the accent that follows it. */
export function fitJson(
  json: string,
  canRender: (character: string) => boolean,
  letters: 'refused' | 'marked',
): { text: string; missing: string[] } {
  const missing = new Set<string>()
  const hasHebrew = HEBREW.test(json)
  const fitted: unknown = mapMembers(JSON.parse(json), leaf => {
    if (typeof leaf !== 'string' || missing.size >= MAX_NAMED) return leaf
    const found = fitGlyphs(leaf, canRender, letters, hasHebrew)
    for (const character of found.missing) missing.add(character)
    return found.text
  })
  return { text: JSON.stringify(fitted), missing: [...missing].slice(0, MAX_NAMED) }
}

/** Replaces an emoji of several characters by one mark. Of a base with a missing accent, the base stays. */
function replaceMissing(segment: string, bad: ReadonlySet<string>): string {
  const characters = [...segment]
  if (!characters.some(character => bad.has(character))) return segment
  const kept = characters.filter(character => !bad.has(character) && !INVISIBLE.test(character))
  return kept.length === 0 ? MISSING_MARK : kept.join('')
}
