/** Results go to standard output, as JSON or as plain text that people and scripts can read. */
export interface OutputOptions {
  json?: boolean
}

type Fields = Record<string, string | number | boolean | null | object>

/** A text is printed as it is. */
export type Result = string | Fields | Fields[]

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printResult(result: Result, options: OutputOptions): void {
  if (typeof result === 'string') print(result)
  else if (Array.isArray(result)) printList(result, options)
  else printRecord(result, options)
}

export function printRecord(record: Fields, { json }: OutputOptions): void {
  const width = Math.max(...Object.keys(record).map(name => name.length))
  const lines = Object.entries(record).map(([name, value]) => `${name.padEnd(width)}  ${plain(value)}`)
  print(json ? JSON.stringify(record) : lines.join('\n'))
}

export function printList(records: Fields[], { json }: OutputOptions): void {
  const names = Object.keys(records[0] ?? {})
  const rows = [names, ...records.map(record => names.map(name => plain(record[name]!)))]
  const widths = names.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(row => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  if (json) print(JSON.stringify(records))
  else if (records.length > 0) print(lines.map(line => line.trimEnd()).join('\n'))
}

function plain(value: Fields[string]): string {
  if (value === null) return '-'
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
