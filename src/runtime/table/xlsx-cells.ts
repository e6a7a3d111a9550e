import { refuse } from '../../domain/errors.js'
import { DAY_MS } from '../../domain/units.js'

/** How a cell shows its number. `padded`: digits with zeros before them, as for postcodes and documents. */
export type NumberFormat =
  | { kind: 'plain' }
  | { kind: 'date'; hasDay: boolean; hasTime: boolean }
  | { kind: 'padded'; digits: number }

/** ECMA-376, part 1, 18.8.30: the formats that a file names without describing them. */
const BUILT_IN: Readonly<Record<number, string>> = {
  ...Object.fromEntries([14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map(id => [id, 'd/m/yy'])),
  ...Object.fromEntries([18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56].map(id => [id, 'h:mm'])),
  22: 'd/m/yy h:mm',
}

/** Spreadsheet programs take some 250 characters. The time that a longer one takes grows with the square of its length. */
const MAX_CODE = 1_024

/** ECMA-376, part 1, 18.8.31. Texts in quotes, escaped characters, colours and conditions say nothing about the kind. */
export function numberFormatOf(id: number, code: string | null): NumberFormat {
  if ((code?.length ?? 0) > MAX_CODE) return { kind: 'plain' }
  const plain = (code ?? BUILT_IN[id] ?? '').replace(/"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|_.|\*./gi, '').split(';')[0]!
  if (/^0{2,}$/.test(plain)) return { kind: 'padded', digits: plain.length }
  const hasTime = /[hs]/i.test(plain)
  const hasDay = /[dya]/i.test(plain.replace(/am\/pm|a\/p/gi, ''))
  return hasDay || hasTime ? { kind: 'date', hasDay, hasTime } : { kind: 'plain' }
}

/** Day 0. The calendar of 1900 counts a 29 February that never was; days after it are right with this beginning. */
const EPOCH = Date.UTC(1899, 11, 30)
const EPOCH_1904 = Date.UTC(1904, 0, 1)

/** Numbers as people write them in Brazil: without an exponent, with a comma. Dates as dd/mm/aaaa. */
export function showNumber(text: string, format: NumberFormat, since1904: boolean): string {
  const value = Number(text)
  if (!Number.isFinite(value)) return text
  if (format.kind === 'date' && value >= 0 && value < 2_958_466) return showDate(value, format, since1904)
  if (Number.isInteger(value)) {
    const digits = value.toFixed(0)
    return format.kind === 'padded' ? digits.padStart(format.digits, '0') : digits
  }
  // Fifteen digits are what a spreadsheet keeps; the others are noise of binary fractions.
  const decimals = Math.min(15, Math.max(0, 15 - Math.max(1, Math.ceil(Math.log10(Math.abs(value) + 1)))))
  return value
    .toFixed(decimals)
    .replace(/\.?0+$/, '')
    .replace('.', ',')
}

function showDate(value: number, { hasDay, hasTime }: { hasDay: boolean; hasTime: boolean }, since1904: boolean): string {
  const seconds = Math.round((value * DAY_MS) / 1_000)
  const moment = new Date((since1904 ? EPOCH_1904 : EPOCH) + seconds * 1_000).toISOString()
  const [year, month, day] = moment.slice(0, 10).split('-')
  const parts = [
    hasDay ? `${day}/${month}/${year}` : '',
    hasTime ? moment.slice(11, moment.slice(17, 19) === '00' ? 16 : 19) : '',
  ]
  return parts.filter(part => part !== '').join(' ')
}

/** The last column that a sheet can have. */
const LAST_COLUMN = 16_384

/** BC12 is column 54, counted from 0. */
export function columnOf(reference: string): number {
  let column = 0
  for (const digit of reference.replace(/[^A-Z]/gi, '').toUpperCase()) column = column * 26 + digit.charCodeAt(0) - 64
  return column > 0 && column <= LAST_COLUMN ? column - 1 : refuse('notTable', 'a planilha está danificada')
}
