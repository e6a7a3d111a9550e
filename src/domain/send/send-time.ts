import { Refusal, refuse } from '../errors.js'
import { readBrazilianDate, readIso } from '../text/dates.js'
import { DAY_MS } from '../units.js'

/** As long as a step of a sequence may wait. */
const MAX_DAYS_AHEAD = 90
/** A request that took its time on the way is not too late: it goes at once. */
const LATE_MS = 5 * 60_000
const FIELD = 'sendAt'

/** The time of sending that a request asks for: ISO 8601 with its zone, or Brasília's time in either form. null: at once. */
export function readSendTime(text: string | null | undefined): Date | null {
  if (text == null) return null
  return readIso(text) ?? readBrazilianDate(asBrazilian(text)) ?? refuse('badSendTime', FIELD)
}

/** 2026-12-01T09:00 as 01/12/2026 09:00, and any other text as it is. */
const asBrazilian = (text: string): string =>
  text.replace(/^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d(?::\d\d)?)$/, (_, year, month, day, time) => `${day}/${month}/${year} ${time}`)

/** How long a send waits for its time; 0: it goes at once. */
export const waitForSendTime = (at: Date | null, now: Date): number => Math.max(0, (at?.getTime() ?? 0) - now.getTime())

/** Not while the request is read: the same request under the same key is answered long after its time has come. */
export function requireSendTime(at: Date | null, now: Date): void {
  if (at === null) return
  const ahead = at.getTime() - now.getTime()
  if (ahead < -LATE_MS) throw new Refusal('sendTimePast', [FIELD])
  if (ahead > MAX_DAYS_AHEAD * DAY_MS) throw new Refusal('sendTimeFar', [FIELD, String(MAX_DAYS_AHEAD)])
}
