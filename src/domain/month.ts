import { brazilianIso } from './text/dates.js'

/** A month of Brasília's calendar, by its days: the first and the last. */
export interface Month {
  /** 2026-11 */
  name: string
  from: string
  to: string
}

/** null: there is no such month. */
export function readMonth(text: string): Month | null {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return null
  const [year, month] = text.split('-').map(Number) as [number, number]
  const last = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
  return { name: text, from: `${text}-01`, to: last }
}

export const monthOf = (at: Date): Month => readMonth(brazilianIso(at).slice(0, 7))!
