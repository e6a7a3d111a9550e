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

/** Ligatures, mathematical letters and full-width forms, which mean the plain letter. Not ½ or ², which have their own meaning. */
const COMPATIBLE = /[\ufb00-\ufb06\uff01-\uff5e]|[\u{1d400}-\u{1d7ff}]/gu
/** Every face of the sheet's fonts has these characters. */
const COMMON = /^[\t\n\r\u0020-\u007e\u00a0-\u00ff]$/
const WRITTEN = /^[\p{L}\p{N}\p{Mn}\p{Mc}]$/u
/** Joins other characters or selects their form, and has no glyph itself. */
const INVISIBLE = /^\p{Default_Ignorable_Code_Point}$/u
/** Enough for the sender to understand the problem; a page in another script need not be checked to its end. */
const MAX_NAMED = 10

const graphemes = new Intl.Segmenter('pt-BR', { granularity: 'grapheme' })

/**
 * Makes a text printable that has characters which the fonts lack. Symbols and emoji are replaced by a mark. A letter or digit is never
 * dropped; `letters` decides about those that the fonts lack: they are returned as missing, so that the text is refused and names them,
 * or marked in a receipt, because its texts are stored elsewhere too.
 */
export function fitGlyphs(
  given: string,
  canRender: (character: string) => boolean,
  letters: 'refused' | 'marked' = 'refused',
): { text: string; missing: string[] } {
  const text = given
    .normalize('NFC')
    .replace(COMPATIBLE, character => character.normalize('NFKC'))
    .replace(/[\uf000-\uf0ff]/g, character => WORD_SYMBOLS[character] ?? character)
  const bad = new Set<string>()
  const missing: string[] = []
  for (const character of new Set(text)) {
    if (COMMON.test(character) || INVISIBLE.test(character) || canRender(character)) continue
    bad.add(character)
    if (letters === 'refused' && WRITTEN.test(character) && missing.push(character) === MAX_NAMED) break
  }
  if (bad.size === 0 || missing.length > 0) return { text, missing }
  return { text: Array.from(graphemes.segment(text), ({ segment }) => replaceMissing(segment, bad)).join(''), missing }
}

/** Replaces an emoji of several characters by one mark. Of a base with a missing accent, the base stays. */
function replaceMissing(segment: string, bad: ReadonlySet<string>): string {
  const characters = [...segment]
  if (!characters.some(character => bad.has(character))) return segment
  const kept = characters.filter(character => !bad.has(character) && !INVISIBLE.test(character))
  return kept.length === 0 ? MISSING_MARK : kept.join('')
}
