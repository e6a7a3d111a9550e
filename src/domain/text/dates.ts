import { DAY_MS } from '../units.js'
import { zoneOffset } from './zone-offset.js'

/** Dates are stored in UTC and shown in Brasília's time, whatever the time zone of the process is. */
const offsetMs = (atMs: number): number => zoneOffset(atMs, 'America/Sao_Paulo')

/** 18/07/2026 01:01:32 */
export function brazilianDate(date: Date): string {
  const local = new Date(date.getTime() + offsetMs(date.getTime())).toISOString()
  return `${local.slice(8, 10)}/${local.slice(5, 7)}/${local.slice(0, 4)} ${local.slice(11, 19)}`
}

/** 2026-07-18T01:01:32.000-03:00 */
export function brazilianIso(date: Date): string {
  const offset = offsetMs(date.getTime())
  const minutes = Math.abs(offset) / 60_000
  const sign = offset < 0 ? '-' : '+'
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  return `${new Date(date.getTime() + offset).toISOString().slice(0, -1)}${sign}${two(minutes / 60)}:${two(minutes % 60)}`
}

/** A moment written in ISO 8601 with its zone, or null. */
export function readIso(text: string): Date | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text)) return null
  const date = new Date(text)
  return Number.isNaN(date.getTime()) || !isDay(text.slice(0, 10)) ? null : date
}

/** `Date` takes 30 February for 2 March. */
function isDay(text: string): boolean {
  const utc = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(utc) && new Date(utc).toISOString().startsWith(text)
}

/** A moment in Brasília as `brazilianDate` writes it, or null; the seconds may be left out. */
export function readBrazilianDate(text: string): Date | null {
  const [whole, day, month, year, time, seconds = ':00'] = /^(\d\d)\/(\d\d)\/(\d{4}) (\d\d:\d\d)(:\d\d)?$/.exec(text) ?? []
  const utc = whole === undefined ? Number.NaN : Date.parse(`${year}-${month}-${day}T${time}${seconds}Z`)
  if (Number.isNaN(utc)) return null
  const date = new Date(utc - offsetMs(utc - offsetMs(utc)))
  // 31/02 is no day, and an hour that summer time leaves out is no moment.
  return brazilianDate(date).startsWith(text) ? date : null
}

/** The first moment of a day in Brasília (2026-07-18), and of the day after it; null: there is no such day. */
export function readDay(text: string): { start: Date; end: Date } | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || !isDay(text)) return null
  const utc = Date.parse(`${text}T00:00:00Z`)
  // The offset at noon: midnight itself may not exist on the day on which summer time begins.
  const startOf = (midnight: number): Date => new Date(midnight - offsetMs(midnight + DAY_MS / 2))
  return { start: startOf(utc), end: startOf(utc + DAY_MS) }
}

/** A date that has not happened is null in some status records and an empty text in others. */
export const dateOrNull = (date: Date | null): string | null => (date === null ? null : brazilianDate(date))
/** JSON leaves a member that is undefined out. */
export const dateOrAbsent = (date: Date | null): string | undefined => (date === null ? undefined : brazilianDate(date))
export const dateOrEmpty = (date: Date | null): string => (date === null ? '' : brazilianDate(date))
