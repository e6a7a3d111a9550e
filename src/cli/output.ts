/** Results go to standard output, as JSON or as plain text that people and scripts can read. */
export interface OutputOptions {
  json?: boolean
}

type Fields = Record<string, string | number | boolean | null | object>

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printRecord(record: Fields, { json }: OutputOptions): void {
  if (json) {
    print(JSON.stringify(record))
    return
  }
  const width = Math.max(...Object.keys(record).map(name => name.length))
  for (const [name, value] of Object.entries(record)) print(`${name.padEnd(width)}  ${plain(value)}`)
}

export function printList(records: Fields[], { json }: OutputOptions): void {
  if (json) {
    print(JSON.stringify(records))
    return
  }
  const names = Object.keys(records[0] ?? {})
  const widths = names.map(name => Math.max(name.length, ...records.map(record => plain(record[name]!).length)))
  const line = (cells: string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd()
  if (records.length > 0) print(line(names))
  for (const record of records) print(line(names.map(name => plain(record[name]!))))
}

const plain = (value: Fields[string]): string =>
  value === null
    ? '-'
    : value instanceof Date
      ? value.toISOString()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
