import { Parser } from 'htmlparser2'
import { readSpans } from '../html-table.js'
import { type SourceCell, tableRows } from './table-rows.js'

/** A piece of text in one style. */
export interface Run {
  text: string
  bold?: true
  italic?: true
  underline?: true
}

/** The content of HTML that paper can show. */
export type Block =
  | { kind: 'paragraph'; align: 'left' | 'center' | 'right'; runs: Run[] }
  | { kind: 'heading'; level: number; runs: Run[] }
  | { kind: 'list'; ordered: boolean; items: Block[][] }
  | { kind: 'table'; rows: TableRow[] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'rule' }

export interface TableRow {
  head: boolean
  /** The cells that begin in this row, empty ones where the table has none. */
  cells: Run[][]
  /** How many columns and rows each of the cells takes. Absent: one of each. */
  spans?: [columns: number, rows: number][]
}

type List = Extract<Block, { kind: 'list' }>

/** Lists and quotes that are nested deeper than this are not indented further. */
const MAX_DEPTH = 6
const SILENT = new Set(['script', 'style', 'head', 'title', 'template', 'noscript', 'svg', 'iframe', 'object'])
const BREAKING = new Set('p div section article header footer address main center pre dl dt dd figure'.split(' '))
const TABLE = new Set(['table', 'thead', 'tbody', 'tfoot', 'tr', 'td', 'th'])
const CELLS = new Set(['td', 'th'])
const BOXES = new Set(['ul', 'ol', 'li', 'blockquote'])
const HEADING = /^h[1-6]$/
type Style = 'bold' | 'italic' | 'underline'
const STYLES: Record<string, Style> = { b: 'bold', strong: 'bold', i: 'italic', em: 'italic', u: 'underline', ins: 'underline' }

/** Reads HTML. Elements that paper cannot show are left out, and no text is lost. */
export function readBlocks(html: string): Block[] {
  const reader = new BlockReader()
  new Parser(reader).end(html)
  return reader.end()
}

/** The least number of lines that blocks take. */
export function countLines(blocks: readonly Block[]): number {
  let lines = 0
  for (const block of blocks) {
    if (block.kind === 'list') for (const item of block.items) lines += Math.max(1, countLines(item))
    else if (block.kind === 'table') lines += block.rows.length
    else if (block.kind === 'quote') lines += countLines(block.blocks)
    else lines += 1 + (block.kind === 'rule' ? 0 : block.runs.filter(run => run.text === '\n').length)
  }
  return lines
}

/** Contains blocks: the sheet itself, a list, an item of a list, a quotation. */
interface Box {
  tag: string
  blocks: Block[]
  list?: List
}

/** A table under way: its sections, their rows and cells. */
interface Table {
  sections: SourceCell[][][]
  /** Another table lies in it: it arranges the sheet, and what is empty in it is not to be filled in by hand. */
  isLayout: boolean
}

/** Its methods with `on` are the callbacks of the HTML parser. */
class BlockReader {
  readonly #boxes: Box[] = [{ tag: '', blocks: [] }]
  readonly #counts = { bold: 0, italic: 0, underline: 0 }
  readonly #aligned: { tag: string; align: 'left' | 'center' | 'right' }[] = []
  #runs: Run[] = []
  #heading: number | null = null
  #table: Table | null = null
  #tables = 0
  #cell: Run[] | null = null
  #silent = 0
  #link: { href: string; from: number } | null = null

  onopentag(tag: string, attributes: Record<string, string>): void {
    if (SILENT.has(tag)) this.#silent++
    if (this.#silent > 0) return
    const style = STYLES[tag]
    if (style !== undefined) this.#counts[style]++
    else if (tag === 'br') this.#runs.push({ text: '\n' })
    else if (tag === 'a') {
      // Links do not nest in HTML. Nested ones would each read the text of all those inside them.
      this.#closeLink()
      this.#link = { href: attributes.href ?? '', from: this.#runs.length }
    } else if (tag === 'hr') {
      this.#flush()
      if (this.#cell === null) this.#box.blocks.push({ kind: 'rule' })
    } else if (HEADING.test(tag)) {
      this.#flush()
      this.#heading = Math.min(3, Number(tag[1]))
    } else if (TABLE.has(tag)) this.#openTable(tag, attributes)
    else if (BOXES.has(tag)) this.#openBox(tag)
    else if (BREAKING.has(tag)) {
      this.#flush()
      const [, align] = /text-align\s*:\s*(center|right)/i.exec(attributes.style ?? '') ?? []
      const wanted = align ?? attributes.align ?? tag
      this.#aligned.push({ tag, align: wanted === 'center' || wanted === 'right' ? wanted : 'left' })
    }
  }

  onclosetag(tag: string): void {
    if (SILENT.has(tag)) this.#silent = Math.max(0, this.#silent - 1)
    if (this.#silent > 0) return
    const style = STYLES[tag]
    if (style !== undefined) this.#counts[style] = Math.max(0, this.#counts[style] - 1)
    else if (tag === 'a') this.#closeLink()
    else if (TABLE.has(tag)) this.#closeTable(tag)
    else if (BOXES.has(tag)) this.#closeBox(tag)
    else if (BREAKING.has(tag) || HEADING.test(tag)) {
      this.#flush()
      this.#heading = null
      if (this.#aligned.at(-1)?.tag === tag) this.#aligned.pop()
    }
  }

  ontext(text: string): void {
    if (this.#silent > 0) return
    const { bold, italic, underline } = this.#counts
    this.#runs.push({
      text: text.replace(/[\s\u0000-\u001f]+/g, ' '),
      ...(bold > 0 ? { bold: true } : {}),
      ...(italic > 0 ? { italic: true } : {}),
      ...(underline > 0 ? { underline: true } : {}),
    })
  }

  end(): Block[] {
    this.#closeTable('table')
    while (this.#boxes.length > 1) this.#closeBox(this.#box.tag)
    return this.#boxes[0]!.blocks
  }

  get #box(): Box {
    return this.#boxes.at(-1)!
  }

  /** Ends the paragraph under way. */
  #flush(): void {
    const runs = tidy(this.#runs)
    this.#runs = []
    this.#link = null
    if (runs.length === 0) return
    if (this.#cell !== null) {
      if (this.#cell.length > 0) this.#cell.push({ text: '\n' })
      for (const run of runs) this.#cell.push(run)
    } else if (this.#heading !== null) this.#box.blocks.push({ kind: 'heading', level: this.#heading, runs })
    else this.#box.blocks.push({ kind: 'paragraph', align: this.#aligned.at(-1)?.align ?? 'left', runs })
  }

  /** Paper has no links: the address follows the link's text, unless it is that text. */
  #closeLink(): void {
    const link = this.#link
    this.#link = null
    if (link === null || !/^(https?|mailto):/i.test(link.href)) return
    const runs = this.#runs.slice(link.from)
    const words = runs.reduce((text, run) => text + run.text, '').trim()
    const shown = link.href.replace(/^mailto:/i, '')
    if (shown !== words && shown.replace(/^https?:\/\//i, '') !== words) this.ontext(` (${shown})`)
  }

  #openBox(tag: string): void {
    this.#flush()
    if (this.#cell !== null) return
    const deep = this.#boxes.length > MAX_DEPTH
    if (tag === 'blockquote') {
      if (!deep) this.#boxes.push({ tag, blocks: [] })
    } else if (tag === 'li') {
      if (this.#box.tag === 'li') this.#closeBox('li')
      if (this.#box.tag === 'list') this.#boxes.push({ tag, blocks: [] })
    } else if (!deep) {
      const list: List = { kind: 'list', ordered: tag === 'ol', items: [] }
      this.#box.blocks.push(list)
      this.#boxes.push({ tag: 'list', blocks: [], list })
    }
  }

  #closeBox(tag: string): void {
    this.#flush()
    if (this.#cell !== null || this.#boxes.length === 1) return
    const wanted = tag === 'ul' || tag === 'ol' ? 'list' : tag
    if (wanted === 'list' && this.#box.tag === 'li') this.#closeBox('li')
    if (this.#box.tag !== wanted) return
    const { blocks, list } = this.#boxes.pop()!
    if (wanted === 'li') this.#box.list!.items.push(blocks)
    else if (wanted === 'blockquote') this.#box.blocks.push({ kind: 'quote', blocks })
    // Text between the items becomes an item of its own.
    else if (blocks.length > 0) list!.items.push(blocks)
  }

  #openTable(tag: string, attributes: Record<string, string>): void {
    this.#flush()
    if (tag === 'table') {
      // Paper shows a table in a cell between the rows before it and those after it, each with columns of their own.
      if (this.#table !== null) this.#table.isLayout = true
      this.#endTable()
      this.#table = { sections: [[]], isLayout: false }
      this.#tables++
    }
    if (tag === 'table' || this.#table === null) return
    const { sections } = this.#table
    if (!CELLS.has(tag)) this.#cell = null
    if (tag === 'tr') sections.at(-1)!.push([])
    else if (CELLS.has(tag)) this.#openCell(sections.at(-1)!, tag, attributes)
    else sections.push([])
  }

  #openCell(rows: SourceCell[][], tag: string, attributes: Record<string, string>): void {
    if (rows.length === 0) rows.push([])
    this.#cell = []
    rows.at(-1)!.push({ ...readSpans(attributes), runs: this.#cell, head: tag === 'th' })
  }

  #closeTable(tag: string): void {
    this.#flush()
    if (tag !== 'tr') this.#cell = null
    if (tag === 'table') {
      this.#endTable()
      this.#tables = Math.max(0, this.#tables - 1)
      this.#table = this.#tables === 0 ? null : { sections: [[]], isLayout: true }
    } else if (tag !== 'tr' && !CELLS.has(tag)) this.#table?.sections.push([])
  }

  #endTable(): void {
    this.#cell = null
    if (this.#table === null) return
    const { sections, isLayout } = this.#table
    const isShown = (cells: SourceCell[]): boolean => !isLayout || cells.some(({ runs }) => runs.length > 0)
    const rows = tableRows(sections.map(section => section.map(cells => (isShown(cells) ? cells : []))))
    if (rows.length > 0) this.#box.blocks.push({ kind: 'table', rows })
  }
}

/** One blank between words, none at the ends. */
function tidy(runs: readonly Run[]): Run[] {
  const tidied: Run[] = []
  let blank = true
  for (const run of runs) {
    const text: string = blank && run.text !== '\n' ? run.text.replace(/^ /, '') : run.text
    if (text === '') continue
    if (text === '\n') trimEnd(tidied)
    tidied.push({ ...run, text })
    blank = text === '\n' || text.endsWith(' ')
  }
  trimEnd(tidied)
  while (tidied.at(-1)?.text === '\n') tidied.pop()
  const first = tidied.findIndex(({ text }) => text !== '\n')
  return first > 0 ? tidied.slice(first) : tidied
}

function trimEnd(runs: Run[]): void {
  const last = runs.at(-1)
  if (last === undefined || last.text === '\n') return
  last.text = last.text.trimEnd()
  if (last.text === '') runs.pop()
}
