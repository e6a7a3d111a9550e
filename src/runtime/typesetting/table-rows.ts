import { type PlacedCell, placeCells, type SpanningCell } from '../html-table.js'
import type { Run, TableRow } from './blocks.js'

export interface SourceCell extends SpanningCell {
  runs: Run[]
  head: boolean
}

type Placed = PlacedCell<SourceCell>

/** A sheet has no room for more columns. */
const MAX_COLUMNS = 12
/** The typesetter sets a cell of several rows again for each page and row: one of many pages would take minutes. */
const MAX_TALL_TEXT = 1_000

/** The rows of a table to print: every place of its grid belongs to one cell, from left to right and from top to bottom. */
export function tableRows(sections: readonly (readonly SourceCell[][])[]): TableRow[] {
  const placed = keepToSheet(placeCells(sections)).map(withoutLongSpan)
  const columns = placed.reduce((most, { column, columns }) => Math.max(most, column + columns), 0)
  /** For each column, the first row that no cell of an earlier row reaches into. */
  const free = new Array<number>(columns).fill(0)
  return byRow(placed).map((cells, row) => makeRow(cells, row, free))
}

/** The text of the columns that the sheet has no room for goes on in the last one, in which no cell spans anything. */
function keepToSheet(placed: readonly Placed[]): Placed[] {
  const last = MAX_COLUMNS - 1
  if (placed.every(({ column }) => column <= last)) return [...placed]
  const kept: Placed[] = []
  for (const place of placed) {
    const earlier = kept.at(-1)
    if (place.column < last) kept.push({ ...place, columns: Math.min(place.columns, last - place.column) })
    else if (earlier?.row === place.row && earlier.column === last) appendCell(earlier.cell, place.cell)
    else kept.push({ cell: { ...place.cell, runs: [...place.cell.runs] }, column: last, row: place.row, columns: 1, rows: 1 })
  }
  return kept
}

/** A long text stands in its first row, and its place in the others is empty. */
const withoutLongSpan = (place: Placed): Placed =>
  place.rows > 1 && place.cell.runs.reduce((length, { text }) => length + text.length, 0) > MAX_TALL_TEXT
    ? { ...place, rows: 1 }
    : place

function appendCell(to: SourceCell, { runs, head }: SourceCell): void {
  if (to.runs.length > 0 && runs.length > 0) to.runs.push({ text: '\n' })
  for (const run of runs) to.runs.push(run)
  to.head ||= head
}

function byRow(placed: readonly Placed[]): Placed[][] {
  const rows: Placed[][] = []
  for (const place of placed) {
    rows[place.row] ??= []
    rows[place.row]!.push(place)
  }
  return rows
}

function makeRow(placed: readonly Placed[], row: number, free: number[]): TableRow {
  const head = placed.some(({ cell }) => cell.head) && placed.every(({ cell }) => cell.head || cell.runs.length === 0)
  const cells: Run[][] = []
  const spans: [columns: number, rows: number][] = []
  const starts = new Map(placed.map(place => [place.column, place]))
  for (let column = 0; column < free.length; column++) {
    if (free[column]! > row) continue
    const place = starts.get(column)
    cells.push(place === undefined ? [] : place.cell.head && !head ? place.cell.runs.map(inBold) : place.cell.runs)
    spans.push([place?.columns ?? 1, place?.rows ?? 1])
    if (place !== undefined) free.fill(row + place.rows, column, column + place.columns)
  }
  return { head, cells, ...(spans.every(([columns, rows]) => columns * rows === 1) ? {} : { spans }) }
}

const inBold = (run: Run): Run => (run.text === '\n' ? run : { ...run, bold: true })
