import { brazilianDate, brazilianIso } from '../domain/text/dates.js'
import { headOf } from './heads.js'

export interface OutputOptions {
  json?: boolean
}

type Fields = Record<string, string | number | boolean | null | object>

/** A list, and the sentence that is shown where it is empty: that there is nothing, and what to do next. */
type Listing = readonly [rows: Fields[], whenEmpty: string]

/** A text is printed as it is. */
export type Result = string | Fields | Listing

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** For commands that show things until they are stopped. Aborted when the person stops the command, and when nobody reads its output any more. */
export function openStopSignal(): AbortSignal {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  process.stdout.once('error', () => stop.abort())
  return stop.signal
}

/** Results go to standard output, as JSON or as plain text that people and scripts can read. */
export function printResult(result: Result, options: OutputOptions): void {
  if (typeof result === 'string') print(result)
  else if (isListing(result)) printList(...result, options)
  else printRecord(result, options)
}

export function printRecord(record: Fields, { json }: OutputOptions): void {
  print(json ? toJson(record) : recordText(record))
}

function recordText(record: Fields): string {
  const lines = Object.entries(record).map(([name, value]) => [headOf(name), plain(value)] as const)
  const width = Math.max(...lines.map(([head]) => head.length))
  return lines.map(([head, value]) => `${head.padEnd(width)}  ${value}`).join('\n')
}

export function printList(rows: Fields[], whenEmpty: string, { json }: OutputOptions): void {
  print(json ? toJson(rows) : rows.length === 0 ? whenEmpty : tableText(rows))
}

function tableText(rows: readonly Fields[]): string {
  const names = Object.keys(rows[0]!)
  const cells = [names.map(headOf), ...rows.map(row => names.map(name => plain(row[name]!)))]
  // Not Math.max of them all at once: a call does not take as many arguments as a list may have rows.
  const widths = names.map((_, column) => cells.reduce((widest, row) => Math.max(widest, row[column]!.length), 0))
  const lines = cells.map(row => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return lines.map(line => line.trimEnd()).join('\n')
}

const isListing = (result: Fields | Listing): result is Listing => Array.isArray(result)

/** For programs: the names do not change, and a date is as exact as it is stored, in Brasília's time. */
const toJson = (value: Fields | Fields[]): string =>
  JSON.stringify(value, function (this: Record<string, unknown>, name: string, member: unknown) {
    const given = this[name]
    return given instanceof Date ? brazilianIso(given) : member
  })

function plain(value: Fields[string]): string {
  if (value === null) return '-'
  if (typeof value === 'boolean') return value ? 'sim' : 'não'
  if (value instanceof Date) return brazilianDate(value)
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(plain).join(', ')
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** A text of somebody else, as a part of a line: a control character in it could forge a row, or command the terminal. */
export const oneLine = (text: string): string => text.replaceAll(/\p{Cc}/gu, ' ')

/** The rows of a list that was asked for one more than its limit. A list that is cut says so: somebody may take it for all of them. */
export function cutList<T>(found: readonly T[], limit: number, kept: string): T[] {
  if (found.length > limit) process.stderr.write(`A lista para em ${limit}, ${kept}. Para ver mais, use --limit.\n`)
  return found.slice(0, limit)
}
