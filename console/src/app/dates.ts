import { useLanguage } from './language.js'

/** Every date is shown in Brasília's time, wherever the reader is: it is the time of the proofs. */
const ZONE = 'America/Sao_Paulo'

const make = (options: Intl.DateTimeFormatOptions) => {
  const cache = new Map<string, Intl.DateTimeFormat>()
  return (language: string, date: string | number | Date): string => {
    const format = cache.get(language) ?? new Intl.DateTimeFormat(language, { timeZone: ZONE, ...options })
    cache.set(language, format)
    return format.format(new Date(date))
  }
}
const shortOf = make({ day: '2-digit', month: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const longOf = make({ dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' })
const dayOf = make({ day: '2-digit', month: '2-digit' })
const hourOf = make({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

const fieldDayOf = make({ year: 'numeric', month: '2-digit', day: '2-digit' })

/** The day of a moment as a date field takes it: 2026-07-18. */
export const fieldDay = (date: number): string => fieldDayOf('en-CA', date)

export function useDates() {
  const language = useLanguage() === 'pt' ? 'pt-BR' : 'en-GB'
  return {
    /** 18/07 01:01, never broken into two lines. */
    short: (date: string | number | Date) => shortOf(language, date).replace(/,? /, '\u00a0'),
    /** 18/07/2026 01:01:32 */
    long: (date: string | number | Date) => longOf(language, date).replace(',', ''),
    day: (date: string | number | Date) => dayOf(language, date),
    hour: (date: string | number | Date) => hourOf(language, date),
    /** 3 min, 2 h, 5 d */
    age: (date: string | number | Date) => age(Date.now() - new Date(date).getTime()),
    number: (value: number) => new Intl.NumberFormat(language).format(value),
    percent: (part: number, whole: number) =>
      whole === 0 ? '–' : new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }).format(part / whole),
  }
}

function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}
