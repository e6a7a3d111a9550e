/**
 * What a letter may say and the sheet's fonts cannot show. Letters of a name are never lost in silence: they are refused by
 * name. Symbols and pictures become a mark that shows that something was there.
 */
export const MISSING_MARK = '□'

/** Bullets and arrows of word processors, which live where Unicode has nothing (Symbol and Wingdings fonts). */
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

/** Ligatures, mathematical letters and full-width forms: the same letters, written otherwise. Not ½ or ², which mean something. */
const COMPATIBLE = /[\ufb00-\ufb06\uff01-\uff5e]|[\u{1d400}-\u{1d7ff}]/gu
/** Covered by every face of the sheet's fonts. */
const COMMON = /^[\t\n\r\u0020-\u007e\u00a0-\u00ff]$/
const LETTER = /^[\p{L}\p{N}\p{Mn}\p{Mc}]$/u
/** Joins or chooses the form of others, and is never seen itself. */
const INVISIBLE = /^\p{Default_Ignorable_Code_Point}$/u
/** Enough for whoever writes to understand; a page of another script need not be tried to its end. */
const MAX_NAMED = 10

const graphemes = new Intl.Segmenter('pt-BR', { granularity: 'grapheme' })

export interface Fitted {
  text: string
  /** Letters that cannot be printed. */
  missing: string[]
}

/**
 * Makes a text printable, as far as nothing is lost. `shows`: whether the fonts have a character. `letters`: those that they lack
 * are refused in a letter; a receipt, whose words stand elsewhere too, is made all the same.
 */
export function fitGlyphs(
  given: string,
  shows: (character: string) => boolean,
  letters: 'refused' | 'marked' = 'refused',
): Fitted {
  const text = given
    .normalize('NFC')
    .replace(COMPATIBLE, character => character.normalize('NFKC'))
    .replace(/[\uf000-\uf0ff]/g, character => WORD_SYMBOLS[character] ?? character)
  const bad = new Set<string>()
  const missing: string[] = []
  for (const character of new Set(text)) {
    if (COMMON.test(character) || INVISIBLE.test(character) || shows(character)) continue
    bad.add(character)
    if (letters === 'refused' && LETTER.test(character) && missing.push(character) === MAX_NAMED) break
  }
  if (bad.size === 0 || missing.length > 0) return { text, missing }
  return { text: Array.from(graphemes.segment(text), ({ segment }) => mend(segment, bad)).join(''), missing }
}

/** One mark for a picture of several signs; of a sign upon another, the other stays. */
function mend(segment: string, bad: ReadonlySet<string>): string {
  const characters = [...segment]
  if (!characters.some(character => bad.has(character))) return segment
  const kept = characters.filter(character => !bad.has(character) && !INVISIBLE.test(character))
  return kept.length === 0 ? MISSING_MARK : kept.join('')
}
