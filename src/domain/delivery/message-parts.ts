import { septetsOf } from '../text/gsm7.js'

/** The parts in which a text travels over a mobile network, and their alphabet. */
export interface PartPlan {
  encoding: 'gsm7' | 'ucs2'
  /** What each part says; joined, the whole text. */
  parts: readonly string[]
}

/** Units in a message by itself, and in one of several, whose header (UDH) takes the room of six octets. */
const ROOM = { gsm7: { alone: 160, joined: 153 }, ucs2: { alone: 70, joined: 67 } } as const

export function planParts(text: string): PartPlan {
  const characters = [...text]
  const encoding = characters.every(character => septetsOf(character) !== null) ? 'gsm7' : 'ucs2'
  const size = (character: string): number => (encoding === 'gsm7' ? septetsOf(character)!.length : character.length)
  const { alone, joined } = ROOM[encoding]
  const total = characters.reduce((sum, character) => sum + size(character), 0)
  if (total <= alone) return { encoding, parts: [text] }
  const parts: string[] = []
  let part = ''
  let used = 0
  // Whole characters: half an escape or half a surrogate pair would be a wrong character at each side of the cut.
  for (const character of characters) {
    if (used + size(character) > joined) {
      parts.push(part)
      part = ''
      used = 0
    }
    part += character
    used += size(character)
  }
  return { encoding, parts: [...parts, part] }
}
