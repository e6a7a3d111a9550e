import { zoneOffset } from '../text/zone-offset.js'
import { DAY_MS, MINUTE_MS } from '../units.js'
import type { Day } from './holidays.js'

/** What the clock on the wall of a zone shows. */
export interface LocalTime {
  day: Day
  /** 0: Sunday. */
  weekday: number
  /** Since midnight. */
  minutes: number
}

const HALF_DAY_MS = DAY_MS / 2

export function localTime(at: Date, zone: string): LocalTime {
  const local = new Date(at.getTime() + zoneOffset(at.getTime(), zone))
  return {
    day: local.toISOString().slice(0, 10),
    weekday: local.getUTCDay(),
    minutes: local.getUTCHours() * 60 + local.getUTCMinutes(),
  }
}

/** The moment at which a zone's clock shows so many minutes after midnight of a day. */
export function momentOf(day: Day, minutes: number, zone: string): Date {
  const local = Date.parse(`${day}T00:00:00Z`) + minutes * MINUTE_MS
  // Twice: the first guess may lie on the other side of a change of the offset.
  return new Date(local - zoneOffset(local - zoneOffset(local, zone), zone))
}

export const dayAfter = (day: Day): Day => new Date(Date.parse(day) + DAY_MS + HALF_DAY_MS).toISOString().slice(0, 10)
