import { Tokenizer } from 'htmlparser2'
import { hasLines, keepAmounts, tableDefaults } from '../../../domain/recipient/readable-content.js'
import { SilentElements } from '../../../domain/recipient/visible-content.js'
import { keepSafeRules, LINES_CLASS, WIDE_CLASS } from './style-rules.js'

/**
 * The sender's HTML, written again so that it cannot reach what we add to it. The recipient's link follows it in the same document:
 * an attribute or an element that the sender leaves open would swallow the link and send it elsewhere, and a style sheet could read
 * it. Every element that is written is closed, every attribute is quoted, and style sheets lose the rules that can tell (style-rules.ts).
 * The time is linear in the length, whatever the nesting: the content may have tens of megabytes.
 */
export interface SenderHtml {
  styles: string
  /** The attributes of <body>, for the <div> that takes its place. */
  attributes: string
  body: string
}

/** Silent elements are left out with everything inside them. Of the others that are not listed here, the text stays. */
const ELEMENTS = new Set(
  `a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn dir div dl dt
   em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav nobr ol p pre q rp rt ruby s samp
   section small span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/),
)
const VOID = new Set(['br', 'col', 'hr', 'img', 'wbr'])
const ATTRIBUTES = new Set(
  `abbr align alt background bgcolor border bordercolor cellpadding cellspacing char charoff cite class clear color cols colspan
   compact datetime dir face headers height href hspace id lang name noshade nowrap rel role rowspan rules scope size span src
   start style summary target title type valign value vspace width`.split(/\s+/),
)
const ADDRESSES = new Set(['href', 'src', 'background', 'cite'])
/** Compared as written: an address that begins with character references (&#106;avascript:) is left out. */
const ADDRESS = /^\s*(https?:|mailto:|tel:|sms:|cid:|data:image\/(png|gif|jpe?g|webp)[;,]|#)/i

const BLOCKS =
  'address article aside blockquote center dir div dl figure footer h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul'
/** The elements that end when another one begins inside them. */
const ENDED_BY = new Map<string, readonly string[]>([
  ...BLOCKS.split(' ').map(name => [name, ['p']] as const),
  ['li', ['p', 'li']],
  ...['dt', 'dd'].map(name => [name, ['p', 'dt', 'dd']] as const),
  ...['td', 'th'].map(name => [name, ['p', 'td', 'th']] as const),
  ['tr', ['p', 'td', 'th', 'tr']],
  ...['tbody', 'thead', 'tfoot'].map(name => [name, ['p', 'td', 'th', 'tr', 'tbody', 'thead', 'tfoot']] as const),
])
const TABLE = new Set(['table', 'tbody', 'thead', 'tfoot', 'tr', 'td', 'th', 'caption'])
/** Elements below this depth are not written, but their text is. No person nests tables so deep. */
const MAX_DEPTH = 256
/** A table that is wider than the screen scrolls by itself, and the keyboard must reach it. */
const box = (lines: boolean): string => `<div class="${WIDE_CLASS}${lines ? ` ${LINES_CLASS}` : ''}" tabindex="0">`

export function readSenderHtml(html: string): SenderHtml {
  const reader = new Reader(html)
  const tokenizer = new Tokenizer({ decodeEntities: false }, reader)
  tokenizer.write(html)
  tokenizer.end()
  return reader.end()
}

/** Its methods with `on` are the callbacks of the tokenizer; their numbers are places in the source. */
class Reader {
  readonly #source: string
  readonly #open: string[] = []
  readonly #pieces: string[] = []
  readonly #styles: string[] = []
  #bodyAttributes = ''
  /** The place among the open elements of the table that has a box of its own. */
  #boxed = -1
  #tag = ''
  #attributes = new Map<string, string>()
  #name = ''
  #value = ''
  /** Left out with their content; a style sheet is kept aside. */
  readonly #silent = new SilentElements()

  constructor(source: string) {
    this.#source = source
  }

  end(): SenderHtml {
    this.#closeDownTo(0)
    return { styles: keepSafeRules(this.#styles.join('\n')), attributes: this.#bodyAttributes, body: this.#pieces.join('') }
  }

  ontext(start: number, end: number): void {
    const text = this.#source.slice(start, end)
    if (this.#silent.tag === 'style') this.#styles.push(text)
    else if (this.#silent.tag === null) this.#pieces.push(quoted(keepAmounts(text)))
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#source.slice(start, end).toLowerCase()
    this.#attributes = new Map()
  }

  onattribname(start: number, end: number): void {
    this.#name = this.#source.slice(start, end).toLowerCase()
    this.#value = ''
  }

  onattribdata(start: number, end: number): void {
    this.#value += this.#source.slice(start, end)
  }

  /** The first of two equal attributes counts, as in browsers. */
  onattribend(): void {
    if (!this.#attributes.has(this.#name)) this.#attributes.set(this.#name, this.#value)
  }

  onopentagend(): void {
    if (!this.#silent.open(this.#tag)) this.#begin(this.#tag)
  }

  onselfclosingtag(): void {
    if (!this.#silent.openAndClose(this.#tag)) this.#begin(this.#tag)
  }

  onclosetag(start: number, end: number): void {
    const tag = this.#source.slice(start, end).toLowerCase()
    if (this.#silent.close(tag)) return
    const place = this.#open.lastIndexOf(tag)
    // As in browsers, a stray end of an element outside a table does not end the table.
    if (place === -1 || (!TABLE.has(tag) && this.#open.slice(place).some(name => TABLE.has(name)))) return
    this.#closeDownTo(place)
  }

  #begin(tag: string): void {
    if (tag === 'body') this.#bodyAttributes ||= this.#writtenBody()
    else if (ELEMENTS.has(tag)) this.#write(tag)
  }

  #write(tag: string): void {
    const ended = ENDED_BY.get(tag)
    while (ended?.includes(this.#open.at(-1) ?? '')) this.#closeDownTo(this.#open.length - 1)
    if (VOID.has(tag)) this.#pieces.push(`<${tag}${this.#written()}>`)
    else if (this.#open.length < MAX_DEPTH) {
      if (tag === 'table') this.#beginTable()
      this.#pieces.push(`<${tag}${this.#written()}>`)
      this.#open.push(tag)
    }
  }

  /** A table inside another moves with it, and one beside the text would no longer be beside it in a box. */
  #beginTable(): void {
    const isBeside = /^(left|right)$/i.test(this.#attributes.get('align')?.trim() ?? '')
    const isPlaced = /\b(float|display|position)\s*:/i.test(this.#attributes.get('style') ?? '')
    for (const [name, value] of tableDefaults(this.#attributes)) this.#attributes.set(name, value)
    if (isBeside || isPlaced || this.#open.includes('table')) return
    this.#boxed = this.#open.length
    this.#pieces.push(box(hasLines(this.#attributes)))
  }

  #closeDownTo(length: number): void {
    while (this.#open.length > length) {
      this.#pieces.push(`</${this.#open.pop()}>`)
      if (this.#open.length !== this.#boxed) continue
      this.#pieces.push('</div>')
      this.#boxed = -1
    }
  }

  #written(): string {
    let text = ''
    for (const [name, value] of this.#attributes) {
      if (ATTRIBUTES.has(name) && (!ADDRESSES.has(name) || ADDRESS.test(value))) text += ` ${name}="${quoted(value)}"`
    }
    return text
  }

  /** A <div> has no bgcolor. */
  #writtenBody(): string {
    const color = this.#attributes.get('bgcolor') ?? ''
    if (/^#?\w{3,20}$/.test(color)) {
      const style = this.#attributes.get('style') ?? ''
      this.#attributes.set('style', `background-color:${color};${style}`)
    }
    this.#attributes.delete('bgcolor')
    return this.#written()
  }

  // What is left out: comments (some mail programs read markup in them), declarations, CDATA.
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  oncdata(): void {}
  onattribentity(): void {}
  ontextentity(): void {}
  onend(): void {}
}

/** Character references stay as they are. */
const quoted = (text: string): string => text.replace(/[<>"]/g, character => ESCAPES[character]!)

const ESCAPES: Record<string, string> = { '<': '&lt;', '>': '&gt;', '"': '&quot;' }
