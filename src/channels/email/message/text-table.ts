import { placeCells, type SpanningCell } from '../../../runtime/html-table.js'
import type { TextBlock } from './text-block.js'

/** Wider tables are not read by their columns, and the places that cells leave free would make a long text of a short HTML. */
const MAX_COLUMNS = 20

const SINGLE: SpanningCell = { colspan: 1, rowspan: 1 }

type TextCell = SpanningCell & { text: string }

/** Collects the cells of a table. A row of a table is a line of text. */
export class TextTable {
  readonly #sections: TextCell[][][] = [[]]
  #row: TextCell[] | null = null

  beginSection(): void {
    this.#sections.push([])
  }

  beginRow(): void {
    this.#row = []
    this.#sections.at(-1)!.push(this.#row)
  }

  endRow(): void {
    this.#row = null
  }

  /** Outside a row, the cell is a row of its own. */
  add({ text }: TextBlock, { colspan, rowspan }: SpanningCell): void {
    const cell = { colspan, rowspan, text: text.trim() }
    if (this.#row === null) this.#sections.at(-1)!.push([cell])
    else this.#row.push(cell)
  }

  addOutside(block: TextBlock): void {
    this.add(block, SINGLE)
  }

  /** Columns that are empty in every row only keep others apart. A cell of several lines is layout: its row is read from top to bottom. */
  toText(): string {
    const rows = this.#textsByColumn()
    const used = new Set(rows.flatMap(cells => cells.flatMap((text, column) => (text === '' ? [] : [column]))))
    const lines = rows.map(cells => {
      const shown = cells.filter((_, column) => used.has(column))
      const filled = shown.filter(text => text !== '')
      return filled.length < 2 || filled.some(text => text.includes('\n')) ? filled.join('\n') : shown.join(' | ')
    })
    return lines.filter(line => line !== '').join('\n')
  }

  /** Each text at the place of its column: a total after a cell that spans five is the sixth, as it is to the eye. */
  #textsByColumn(): string[][] {
    const placed = placeCells(this.#sections)
    const isWide = placed.some(({ column }) => column >= MAX_COLUMNS)
    const rows: string[][] = []
    for (const { cell, column, row } of placed) {
      rows[row] ??= []
      const texts = rows[row]!
      while (!isWide && texts.length < column) texts.push('')
      texts.push(cell.text)
    }
    return rows
  }
}
