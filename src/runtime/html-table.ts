/** A cell of an HTML table, with its spans as they are written. */
export interface SpanningCell {
  colspan: number
  /** 0: to the end of its section (thead, tbody, tfoot). */
  rowspan: number
}

/** A cell in the grid of its table. Cells never overlap. */
export interface PlacedCell<Cell> {
  cell: Cell
  column: number
  row: number
  columns: number
  rows: number
}

/** The limits of HTML. */
const MAX_COLSPAN = 1_000
const MAX_ROWSPAN = 65_534

export function readSpans(attributes: { colspan?: string; rowspan?: string }): SpanningCell {
  const colspan = readCount(attributes.colspan) ?? 1
  const rowspan = readCount(attributes.rowspan) ?? 1
  return { colspan: colspan === 0 ? 1 : Math.min(colspan, MAX_COLSPAN), rowspan: Math.min(rowspan, MAX_ROWSPAN) }
}

/** A number as browsers read it: what follows its digits is ignored. */
function readCount(text = ''): number | null {
  const [, digits] = /^[ \t\n\f\r]*(?:\+|-(?=0+(?!\d)))?(\d+)/.exec(text) ?? []
  return digits === undefined ? null : Number(digits)
}

/**
 * Places the cells of a table where a browser does. Columns and rows in which no cell begins have no content of their own and are
 * left out, so that the grid is never wider than the number of cells, whatever their spans. Where a browser prints cells over each
 * other, the later one ends before the earlier one.
 */
export function placeCells<Cell extends SpanningCell>(sections: readonly (readonly (readonly Cell[])[])[]): PlacedCell<Cell>[] {
  const placed: PlacedCell<Cell>[] = []
  let first = 0
  for (const rows of sections) {
    placeSection(rows, first, placed)
    first += rows.length
  }
  return withoutUnusedLines(placed)
}

function placeSection<Cell extends SpanningCell>(
  rows: readonly (readonly Cell[])[],
  first: number,
  placed: PlacedCell<Cell>[],
): void {
  const end = first + rows.length
  /** The cells of earlier rows that reach into this one, from left to right. */
  let above: PlacedCell<Cell>[] = []
  for (const [index, cells] of rows.entries()) {
    const row = first + index
    above = above.filter(cell => cell.row + cell.rows > row)
    const tall: PlacedCell<Cell>[] = []
    let column = 0
    let next = 0
    for (const cell of cells) {
      for (; next < above.length && above[next]!.column <= column; next++)
        column = Math.max(column, above[next]!.column + above[next]!.columns)
      const columns = Math.min(cell.colspan, (above[next]?.column ?? Number.POSITIVE_INFINITY) - column)
      const height = Math.min(cell.rowspan === 0 ? end : cell.rowspan, end - row)
      const place = { cell, column, row, columns, rows: height }
      placed.push(place)
      if (height > 1) tall.push(place)
      column += cell.colspan
    }
    if (tall.length > 0) above = [...above, ...tall].sort((a, b) => a.column - b.column)
  }
}

function withoutUnusedLines<Cell>(placed: readonly PlacedCell<Cell>[]): PlacedCell<Cell>[] {
  const columnAt = countBelow(placed.map(({ column }) => column))
  const rowAt = countBelow(placed.map(({ row }) => row))
  return placed.map(({ cell, column, row, columns, rows }) => {
    const [left, top] = [columnAt(column), rowAt(row)]
    return { cell, column: left, row: top, columns: columnAt(column + columns) - left, rows: rowAt(row + rows) - top }
  })
}

/** How many different ones of these numbers are smaller than a given one. */
function countBelow(numbers: readonly number[]): (limit: number) => number {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  return limit => {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sorted[middle]! < limit) low = middle + 1
      else high = middle
    }
    return low
  }
}
