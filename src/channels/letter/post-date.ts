import { readDay, readIso } from '../../domain/text/dates.js'

/** A moment or a day in ISO 8601, or null. Without a zone the time is Brasília's; Brazil has had no summer time since 2019. */
export function readPostDate(text: string): Date | null {
  const [, day, time, sign, hours, minutes] = /^(\S{10})[T ]([\d:.]+)(?:Z|([+-])(\d\d):?(\d\d))?$/.exec(text) ?? []
  if (time === undefined) return readDay(text)?.start ?? null
  const zone = text.endsWith('Z') ? 'Z' : sign === undefined ? '-03:00' : `${sign}${hours}:${minutes}`
  return readIso(`${day}T${time}${zone}`)
}
