import { readSpans } from '../../../runtime/html-table.js'
import { TextBlock } from './text-block.js'
import { bullets, type Markers, numbers, TextList } from './text-list.js'
import { TextTable } from './text-table.js'

const RULE = '-'.repeat(40)

type Breaks = readonly [before: number, after: number]

const named = (names: string, ...breaks: Breaks): (readonly [name: string, breaks: Breaks])[] =>
  names.split(' ').map(name => [name, breaks])

/** The line breaks before and after each element that begins a line. The others are part of the line around them. */
const BREAKS: ReadonlyMap<string, Breaks> = new Map([
  ...named('h1 h2 h3', 3, 2),
  ...named('blockquote dl figure h4 h5 h6 ol p pre table ul', 2, 2),
  ...named('address article aside caption center dd details div dt fieldset figcaption footer form header hgroup', 1, 1),
  ...named('legend li main nav search section summary tbody td tfoot th thead tr', 1, 1),
])

export const beginsLine = (tag: string): boolean => BREAKS.has(tag)

const NESTED: Breaks = [1, 1]
const LISTS = new Set(['ol', 'ul'])
const SECTIONS = new Set(['thead', 'tbody', 'tfoot'])

type Attributes = ReadonlyMap<string, string>

/** Writes the content of elements as text. Its caller ends them in the order in which an HTML document ends them. */
export class TextWriter {
  /** What text is added to: the document, or the innermost quotation, list, list item, table, row or cell. */
  #block = new TextBlock()
  /** The innermost list. A table cell is not part of the list around its table. */
  #list: TextList | null = null
  #table: TextTable | null = null
  /** The number of open <pre>. */
  #pre = 0
  #isStartOfPre = false

  get text(): string {
    return this.#block.text
  }

  get isInList(): boolean {
    return this.#list !== null
  }

  get isInTable(): boolean {
    return this.#table !== null
  }

  write(text: string): void {
    if (this.#pre === 0) this.#block.write(text)
    else this.#block.writeLines(this.#isStartOfPre ? text.replace(/^\r?\n/, '') : text)
    this.#isStartOfPre = false
  }

  /** White space is not kept, in a <pre> either. */
  writeInline(text: string): void {
    this.#block.write(text)
  }

  breakLine(): void {
    this.#block.breakLine()
  }

  writeRule(): void {
    this.#block.add(RULE, 2, 2)
  }

  /** Text goes on in a new line, as before and after a <div>. */
  separate(): void {
    this.#block.separate(1)
  }

  /** Begins an element that `beginsLine`. The answer ends it. */
  begin(tag: string, attributes: Attributes): () => void {
    const [before, after] = LISTS.has(tag) && this.#list !== null ? NESTED : BREAKS.get(tag)!
    this.#block.separate(before)
    const end = this.#beginContent(tag, attributes)
    return () => {
      end?.()
      this.#block.separate(after)
    }
  }

  #beginContent(tag: string, attributes: Attributes): (() => void) | null {
    const [list, table] = [this.#list, this.#table]
    if (tag === 'pre') return this.#beginPre()
    if (tag === 'blockquote') return this.#beginInside(block => this.#quote(block))
    if (tag === 'ul') return this.#beginList(bullets)
    if (tag === 'ol') return this.#beginList(numbers(attributes.get('start'), attributes.get('type')))
    if (tag === 'li') return list && this.#beginItem(list)
    if (tag === 'table') return this.#beginTable()
    if (SECTIONS.has(tag)) return table && this.#beginSection(table)
    if (tag === 'tr') return table && this.#beginRow(table)
    if (tag === 'td' || tag === 'th') return table && this.#beginCell(table, attributes)
    return null
  }

  /** What follows is written to a block of its own until the end. */
  #beginInside(end: (block: TextBlock) => void): () => void {
    const around = this.#block
    this.#block = new TextBlock()
    return () => {
      const block = this.#block
      this.#block = around
      end(block)
    }
  }

  #beginPre(): () => void {
    this.#pre++
    this.#isStartOfPre = true
    return () => {
      this.#pre--
    }
  }

  #quote(block: TextBlock): void {
    if (!block.isEmpty) this.#block.add(`> ${block.text.replaceAll('\n', '\n> ')}`, block.leading, block.trailing)
  }

  #beginList(markers: Markers): () => void {
    const around = this.#list
    const list = new TextList(markers, around !== null)
    this.#list = list
    return this.#beginInside(outside => {
      this.#list = around
      if (!outside.isEmpty) list.addOutside(outside)
      const block = list.toBlock()
      this.#block.add(block.text, block.leading, block.trailing)
    })
  }

  #beginItem(list: TextList): () => void {
    this.#keepOutside(list)
    const marker = list.nextMarker()
    return this.#beginInside(block => list.add(marker, block))
  }

  #beginTable(): () => void {
    const [aroundTable, aroundList] = [this.#table, this.#list]
    const table = new TextTable()
    this.#table = table
    this.#list = null
    return this.#beginInside(outside => {
      this.#table = aroundTable
      this.#list = aroundList
      if (!outside.isEmpty) table.addOutside(outside)
      this.#block.add(table.toText(), 0, 0)
    })
  }

  #beginSection(table: TextTable): () => void {
    this.#keepOutside(table)
    table.beginSection()
    return () => {
      this.#keepOutside(table)
      table.beginSection()
    }
  }

  #beginRow(table: TextTable): () => void {
    this.#keepOutside(table)
    table.beginRow()
    return () => {
      this.#keepOutside(table)
      table.endRow()
    }
  }

  #beginCell(table: TextTable, attributes: Attributes): () => void {
    this.#keepOutside(table)
    const spans = readSpans({ colspan: attributes.get('colspan') ?? '', rowspan: attributes.get('rowspan') ?? '' })
    return this.#beginInside(block => table.add(block, spans))
  }

  /** Content of a list or a table that is outside its items or cells is kept, as browsers show it. */
  #keepOutside(container: TextList | TextTable): void {
    if (this.#block.isEmpty) return
    container.addOutside(this.#block)
    this.#block = new TextBlock()
  }
}
