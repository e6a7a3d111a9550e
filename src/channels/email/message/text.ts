import { compile, type DomNode, type FormatCallback } from 'html-to-text'
import { placeCells, readSpans, type SpanningCell } from '../../../runtime/html-table.js'

/** Longer HTML (over half a second of work) is cut in the plain text. The HTML part of the message is always complete. */
const MAX_HTML = 131_072

/** Wider tables are not read by their columns, and the places that cells leave free would make a long text of a short HTML. */
const MAX_COLUMNS = 20

const SECTIONS = new Set(['thead', 'tbody', 'tfoot'])
const CELLS = new Set(['td', 'th'])
const WITHOUT_TEXT = new Set(['col', 'colgroup'])

/** A row of a table is a line of text. What stands in a table outside any cell is kept as a cell of its own, as browsers show it. */
const formatTable: FormatCallback = (table, walk, builder) => {
  /** The first row of each section. */
  const starts = [0]
  let rowCount = 0
  const writeCell = (nodes: DomNode[], spans?: SpanningCell): void => {
    builder.openTableCell()
    walk(nodes, builder)
    builder.closeTableCell(spans)
  }
  const writeRow = (nodes: readonly DomNode[]): void => {
    rowCount++
    builder.openTableRow()
    for (const node of nodes.filter(hasText)) {
      if (CELLS.has(node.name ?? '')) writeCell(node.children, readSpans(node.attribs ?? {}))
      else writeCell([node])
    }
    builder.closeTableRow()
  }
  const writeRows = (nodes: readonly DomNode[]): void => {
    for (const node of nodes.filter(hasText)) writeRow(node.name === 'tr' ? node.children : [node])
  }
  builder.openTable()
  for (const node of table.children) {
    const isSection = SECTIONS.has(node.name ?? '')
    if (isSection) starts.push(rowCount)
    writeRows(isSection ? node.children : [node])
    if (isSection) starts.push(rowCount)
  }
  builder.closeTable({
    tableToString: rows => rowsAsText(starts.map((start, place) => rows.slice(start, starts[place + 1]))),
  })
}

const hasText = ({ type, name, data }: DomNode): boolean =>
  type === 'tag' ? !WITHOUT_TEXT.has(name ?? '') : type === 'text' && data?.trim() !== ''

type TextCell = SpanningCell & { text: string }

/** Columns that are empty in every row only keep others apart. A cell of several lines is layout: its row is read from top to bottom. */
function rowsAsText(sections: readonly (readonly TextCell[][])[]): string {
  const rows = textsByColumn(sections)
  const used = new Set(rows.flatMap(cells => cells.flatMap((text, column) => (text === '' ? [] : [column]))))
  const lines = rows.map(cells => {
    const shown = cells.filter((_, column) => used.has(column))
    const filled = shown.filter(text => text !== '')
    return filled.length < 2 || filled.some(text => text.includes('\n')) ? filled.join('\n') : shown.join(' | ')
  })
  return lines.filter(line => line !== '').join('\n')
}

/** Each text at the place of its column: a total after a cell that spans five is the sixth, as it is to the eye. */
function textsByColumn(sections: readonly (readonly TextCell[][])[]): string[][] {
  const placed = placeCells(sections)
  const isWide = placed.some(({ column }) => column >= MAX_COLUMNS)
  const rows: string[][] = []
  for (const { cell, column, row } of placed) {
    rows[row] ??= []
    const texts = rows[row]!
    while (!isWide && texts.length < column) texts.push('')
    texts.push(cell.text.trim())
  }
  return rows
}

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 100 },
  formatters: { rows: formatTable },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, linkBrackets: [' (', ')'] } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(selector => ({ selector, options: { uppercase: false } })),
    { selector: 'table', format: 'rows' },
  ],
})

/** The plain text of an HTML content, for mail programs without HTML. The first line keeps its indent, as the others of a list do. */
export const textFromHtml = (html: string): string =>
  convert(html.slice(0, MAX_HTML))
    .replace(/^\s*\n/, '')
    .trimEnd()
