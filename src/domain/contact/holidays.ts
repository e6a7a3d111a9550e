import { DAY_MS } from '../units.js'

/** A day of the calendar, without a time zone: 2027-03-26. */
export type Day = string

/** national: of federal law, and Good Friday. bank: also the days on which banks are closed by custom: Carnival and Corpus Christi. */
export const holidayKinds = ['national', 'bank', 'none'] as const
export type HolidayKind = (typeof holidayKinds)[number]

const fixed: Readonly<Record<string, string>> = {
  '01-01': 'Confraternização Universal',
  '04-21': 'Tiradentes',
  '05-01': 'Dia do Trabalho',
  '09-07': 'Independência do Brasil',
  '10-12': 'Nossa Senhora Aparecida',
  '11-02': 'Finados',
  '11-15': 'Proclamação da República',
  '11-20': 'Dia Nacional de Zumbi e da Consciência Negra',
  '12-25': 'Natal',
}

/** Days from Easter Sunday. */
const movable: readonly { readonly offset: number; readonly name: string; readonly kind: 'national' | 'bank' }[] = [
  { offset: -48, name: 'segunda-feira de Carnaval', kind: 'bank' },
  { offset: -47, name: 'terça-feira de Carnaval', kind: 'bank' },
  { offset: -2, name: 'Sexta-feira Santa', kind: 'national' },
  { offset: 60, name: 'Corpus Christi', kind: 'bank' },
]

/** Easter Sunday of the Gregorian calendar, in milliseconds of UTC (the algorithm of Meeus, Jones and Butcher). */
function easterOf(year: number): number {
  const a = year % 19
  const b = Math.floor(year / 100)
  const c = year % 100
  const d = Math.floor(b / 4)
  const e = b % 4
  const f = Math.floor((b + 8) / 25)
  const g = Math.floor((b - f + 1) / 3)
  const h = (19 * a + b - d - g + 15) % 30
  const i = Math.floor(c / 4)
  const k = c % 4
  const l = (32 + 2 * e + 2 * i - h - k) % 7
  const m = Math.floor((a + 11 * h + 22 * l) / 451)
  const month = Math.floor((h + l - 7 * m + 114) / 31)
  const day = ((h + l - 7 * m + 114) % 31) + 1
  return Date.UTC(year, month - 1, day)
}

/** The name of the holiday on a day; null: it is none of that kind. */
export function holidayOn(day: Day, kind: HolidayKind): string | null {
  if (kind === 'none') return null
  const name = fixed[day.slice(5)]
  if (name !== undefined) return name
  const offset = (Date.parse(day) - easterOf(Number(day.slice(0, 4)))) / DAY_MS
  return movable.find(holiday => holiday.offset === offset && (kind === 'bank' || holiday.kind === 'national'))?.name ?? null
}
