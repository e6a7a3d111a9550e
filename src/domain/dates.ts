/** Dates are stored in UTC and shown in Brasília's time, whatever the time zone of the process is. */
const HOUR = 3_600_000
const zone = new Intl.DateTimeFormat('en-US', { timeZone: 'America/Sao_Paulo', timeZoneName: 'longOffset' })

/** Offsets change at most once an hour; asking the zone data costs 20 times as much as the arithmetic. */
const offsets = new Map<number, number>()
const MAX_OFFSETS = 10_000

function offsetMs(atMs: number): number {
  const hour = Math.floor(atMs / HOUR)
  const known = offsets.get(hour)
  if (known !== undefined) return known
  const name = zone.formatToParts(atMs).find(part => part.type === 'timeZoneName')!.value
  const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) as unknown as [string, string?, string?, string?]
  const offset = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  if (offsets.size >= MAX_OFFSETS) offsets.clear()
  offsets.set(hour, offset)
  return offset
}

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
  return Number.isNaN(date.getTime()) ? null : date
}

/** A date that has not happened is null in some status records and an empty text in others. */
export const dateOrNull = (date: Date | null): string | null => (date === null ? null : brazilianDate(date))
export const dateOrEmpty = (date: Date | null): string => (date === null ? '' : brazilianDate(date))
