import { brazilianDate } from '../text/dates.js'
import { labelZone } from './area-zones.js'
import { type HolidayKind, holidayOn } from './holidays.js'
import type { ContactHours } from './hours.js'
import { dayAfter, type LocalTime, localTime, momentOf } from './zone-clock.js'

/** The rules of one account for one channel. */
export interface ContactRules {
  /** null: at any time. */
  hours: ContactHours | null
  holidays: HolidayKind
  /** How many messages a person may get in a day of the person's own; null: any number. */
  perDay: number | null
  /** How long the same content is not sent to the same person again; null: it may be at any time. */
  repeatAfterMs: number | null
}

/** Why a contact waits. `until`: the first moment at which it may be tried again. */
export interface ContactWait {
  rule: 'hours' | 'day' | 'holiday' | 'perDay' | 'repeat'
  until: Date
  /** In Portuguese. */
  reason: string
}

/** More than any chain of Sundays and holidays. */
const MAX_DAYS = 40
const MAX_ROUNDS = 100

/** When the hours and days of contact allow it next; null: now. `zones`: all of them must allow it. */
export function waitForHours({ hours, holidays }: ContactRules, at: Date, zones: readonly string[]): ContactWait | null {
  if (hours === null) return null
  let first: Omit<ContactWait, 'until'> | null = null
  let until = at
  // A moment that suits one zone may not suit the other.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const waits = zones.map(zone => waitInZone(hours, holidays, until, zone)).find(wait => wait !== null)
    if (waits === undefined) return first === null ? null : { ...first, until }
    first ??= { rule: waits.rule, reason: waits.reason }
    until = waits.until
  }
  throw new Error(`the contact hours ${hours.text} never allow a contact`)
}

function waitInZone(hours: ContactHours, holidays: HolidayKind, at: Date, zone: string): ContactWait | null {
  const now = localTime(at, zone)
  const because = objection(hours, holidays, now, zone)
  return because === null ? null : { ...because, until: nextOpening(hours, holidays, at, now, zone) }
}

function objection(
  { days, text }: ContactHours,
  holidays: HolidayKind,
  { day, weekday, minutes }: LocalTime,
  zone: string,
): Omit<ContactWait, 'until'> | null {
  const holiday = holidayOn(day, holidays)
  if (holiday !== null) return { rule: 'holiday', reason: `é feriado (${holiday})` }
  const span = days[weekday]!
  const shown = `o horário de contato é ${text}, ${labelZone(zone)}`
  if (span === null) return { rule: 'day', reason: `não há contato neste dia da semana: ${shown}` }
  return minutes >= span.from && minutes < span.until ? null : { rule: 'hours', reason: shown }
}

/** The first moment after `at` at which a span begins on a day with contact. */
function nextOpening(hours: ContactHours, holidays: HolidayKind, at: Date, now: LocalTime, zone: string): Date {
  let { day, weekday } = now
  for (let days = 0; days < MAX_DAYS; days++, day = dayAfter(day), weekday = (weekday + 1) % 7) {
    const span = hours.days[weekday]!
    if (span === null || holidayOn(day, holidays) !== null) continue
    const opening = momentOf(day, span.from, zone)
    if (opening.getTime() > at.getTime()) return opening
  }
  throw new Error(`the contact hours ${hours.text} never allow a contact`)
}

/** The person's own day, in which contacts are counted. */
export const contactDay = (at: Date, [zone]: readonly string[]): string => localTime(at, zone!).day

/** When a person who had all contacts of a day may be contacted again. */
export function waitForNextDay(rules: ContactRules, at: Date, zones: readonly string[]): ContactWait {
  const midnight = momentOf(dayAfter(contactDay(at, zones)), 0, zones[0]!)
  const opens = waitForHours(rules, midnight, zones)
  const reason = `a pessoa já teve neste canal os ${rules.perDay} contatos que um dia permite`
  return { rule: 'perDay', until: opens?.until ?? midnight, reason }
}

/** For the timeline and "what comes next". */
export const describeWait = ({ reason, until }: ContactWait): string => `espera até ${brazilianDate(until)}: ${reason}`
