/** The hours in which people may be contacted, by day of the week. */
export interface ContactHours {
  /** As it is written, for people. */
  readonly text: string
  /** By weekday, Sunday first, in minutes since midnight; null: no contact on that day. */
  readonly days: readonly (Span | null)[]
}

type Span = { readonly from: number; readonly until: number }

const weekdays = ['dom', 'seg', 'ter', 'qua', 'qui', 'sex', 'sab']
/** The setting for "at any time". */
export const ANY_TIME = 'sempre'

/** "seg-sex 08:00-20:00; sab 08:00-14:00". Days that are not named have no contact; null: it cannot be read. */
export function readHours(text: string): ContactHours | null {
  const days: (Span | null)[] = weekdays.map(() => null)
  const parts = text
    .toLowerCase()
    .replaceAll('á', 'a')
    .split(';')
    .map(part => part.trim())
    .filter(part => part !== '')
  if (parts.length === 0) return null
  for (const part of parts) {
    const [, first = '', last = first, from = '', until = ''] =
      /^([a-z]{3})(?:-([a-z]{3}))? (\d\d:\d\d)-(\d\d:\d\d)$/.exec(part) ?? []
    const named = daysBetween(first, last)
    const span = { from: readMinutes(from), until: readMinutes(until) }
    if (named.length === 0 || Number.isNaN(span.from) || Number.isNaN(span.until) || span.from >= span.until) return null
    for (const day of named) {
      if (days[day] !== null) return null
      days[day] = span
    }
  }
  return { text: parts.join('; '), days }
}

/** In the order of the week, which may pass Saturday: "sab-dom". */
function daysBetween(first: string, last: string): number[] {
  const [from, to] = [weekdays.indexOf(first), weekdays.indexOf(last)]
  if (from < 0 || to < 0) return []
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, place) => (from + place) % 7)
}

function readMinutes(text: string): number {
  const [hours = Number.NaN, minutes = Number.NaN] = text.split(':').map(Number)
  const total = hours * 60 + minutes
  return minutes < 60 && total <= 24 * 60 ? total : Number.NaN
}
