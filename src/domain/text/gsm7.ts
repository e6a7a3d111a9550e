/** The alphabet that an SMS is cheap in: GSM 03.38, 7 bits a character, and a few more behind an escape. */
const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
const ESCAPE = 0x1b
const EXTENDED = '\f^{}\\[~]|€'
const EXTENDED_CODES = [0x0a, 0x14, 0x28, 0x29, 0x2f, 0x3c, 0x3d, 0x3e, 0x40, 0x65]

const codes = new Map<string, readonly number[]>([
  ...[...BASIC].map((character, code): [string, number[]] => [character, [code]]),
  ...EXTENDED_CODES.map((code, place): [string, number[]] => [EXTENDED[place]!, [ESCAPE, code]]),
])
codes.delete('\u001b')

/** One number per septet, two for an escaped character; null: the alphabet does not have it. */
export const septetsOf = (character: string): readonly number[] | null => codes.get(character) ?? null

/** Reads septets, one an octet. An escape that nothing known follows is a blank, as GSM 03.38 says. */
export function readGsm7(octets: Uint8Array): string {
  let text = ''
  for (let place = 0; place < octets.length; place++) {
    const code = octets[place]! & 0x7f
    if (code !== ESCAPE) text += BASIC[code]
    else text += EXTENDED[EXTENDED_CODES.indexOf(octets[++place] ?? -1)] ?? ' '
  }
  return text
}

/** A similar character of the alphabet: ã becomes a, a curly quote a straight one; null: there is none. */
export function plainForm(character: string): string | null {
  if (codes.has(character)) return character
  const replaced = REPLACED.get(character) ?? character.normalize('NFKD').replace(/\p{M}/gu, '')
  return replaced !== character && [...replaced].every(one => codes.has(one)) ? replaced : null
}

const REPLACED = new Map(
  Object.entries({ "'": '‘’´`', '"': '“”«»', '-': '‐‑−–—•', ' ': '\t', '': '\u200b' }).flatMap(([plain, others]) =>
    [...others].map(other => [other, plain]),
  ),
)
