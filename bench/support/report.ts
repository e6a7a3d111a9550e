import { cpus } from 'node:os'

/** Prints a ratio beside its target. */
export function verdict(name: string, value: number, bound: 'at least' | 'at most', target: number): void {
  const met = bound === 'at least' ? value >= target : value <= target
  const shown = target >= 10 ? value.toFixed(0) : value.toFixed(2)
  print(`${(met ? 'PASS' : 'below target').padEnd(14)}${name}: ${shown} (${bound} ${target})\n`)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Round by round, since neighbours in time had the same machine. */
export const ratioOf = (rates: readonly number[], others: readonly number[]): number =>
  median(rates.map((rate, round) => rate / others[round]!))

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!

/** Columns as wide as they need to be; the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ')
  return `${rows.map(line).join('\n')}\n`
}

export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model.trim() || process.arch}, Node ${process.versions.node}`

export const print = (text: string): void => void process.stdout.write(text)

export const note = (text: string): void => void process.stderr.write(`${text}\n`)
