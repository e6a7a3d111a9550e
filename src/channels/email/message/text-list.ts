import { TextBlock } from './text-block.js'

/** Browsers read numbers of 32 bits. */
const MAX_NUMBER = 2_147_483_647

/** Gives the marker of the next item. */
export type Markers = () => string

export const bullets: Markers = () => '* '

/** The markers of an <ol>, from its attributes. */
export function numbers(start = '1', type = '1'): Markers {
  const first = Number(/^\s*([+-]?\d+)/.exec(start)?.[1] ?? 1)
  let next = Math.abs(first) > MAX_NUMBER ? 1 : first
  return () => `${asMarker(next++, type)}. `
}

/** A number that has no letters or Roman numerals is written in digits, as in browsers. */
function asMarker(number: number, type: string): string {
  const isRoman = type === 'i' || type === 'I'
  const isLetter = type === 'a' || type === 'A'
  if (number < 1 || (isRoman ? number > 3_999 : !isLetter)) return String(number)
  const marker = isRoman ? romanNumeral(number) : letters(number)
  return type === 'i' || type === 'a' ? marker : marker.toUpperCase()
}

/** a to z, then aa to zz, and so on. */
function letters(number: number): string {
  let text = ''
  for (let rest = number; rest > 0; rest = Math.floor((rest - 1) / 26)) text = String.fromCharCode(97 + ((rest - 1) % 26)) + text
  return text
}

const NUMERALS = Object.entries({
  m: 1000,
  cm: 900,
  d: 500,
  cd: 400,
  c: 100,
  xc: 90,
  l: 50,
  xl: 40,
  x: 10,
  ix: 9,
  v: 5,
  iv: 4,
  i: 1,
})

function romanNumeral(number: number): string {
  let [text, rest] = ['', number]
  for (const [numeral, value] of NUMERALS) {
    text += numeral.repeat(Math.floor(rest / value))
    rest %= value
  }
  return text
}

/** Collects the items of a list. Their markers are as wide as the widest one, and the lines of an item begin below each other. */
export class TextList {
  readonly #markers: Markers
  readonly #indent: string
  readonly #items: { marker: string; block: TextBlock }[] = []

  constructor(markers: Markers, isNested: boolean) {
    this.#markers = markers
    this.#indent = isNested ? '' : ' '
  }

  nextMarker(): string {
    return this.#indent + this.#markers()
  }

  add(marker: string, block: TextBlock): void {
    this.#items.push({ marker, block })
  }

  addOutside(block: TextBlock): void {
    this.add('', block)
  }

  toBlock(): TextBlock {
    const width = this.#items.reduce((most, { marker }) => Math.max(most, marker.length), 0)
    const spacing = ' '.repeat(width)
    const list = new TextBlock()
    for (const { marker, block } of this.#items) {
      const text = marker.padEnd(width) + block.text.replaceAll('\n', `\n${spacing}`)
      list.add(text, Math.max(block.leading, 1), Math.max(block.trailing, 1))
    }
    return list
  }
}
