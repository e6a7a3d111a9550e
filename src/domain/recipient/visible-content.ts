import { Tokenizer } from 'htmlparser2'
import { isBlank } from '../text/text.js'

/** The elements that no recipient sees anything of, with all that is inside them. */
const SILENT_ELEMENTS: ReadonlySet<string> = new Set(
  'script style title textarea xmp iframe object svg math template select noembed noframes audio video canvas applet'.split(' '),
)

/** Follows the tags of HTML and tells which of them belong to a silent element. The time is the same at any depth. */
export class SilentElements {
  #tag = ''
  #depth = 0

  /** The silent element that is open; null: there is none. */
  get tag(): string | null {
    return this.#depth === 0 ? null : this.#tag
  }

  /** Whether this tag, and with it the content after it, is silent. */
  open(tag: string): boolean {
    if (this.#depth > 0) {
      if (tag === this.#tag) this.#depth++
      return true
    }
    if (!SILENT_ELEMENTS.has(tag)) return false
    this.#tag = tag
    this.#depth = 1
    return true
  }

  /** As `open`, for <tag/>. Only SVG and MathML, which are silent, give the slash a meaning: the element has no content. */
  openAndClose(tag: string): boolean {
    return SILENT_ELEMENTS.has(tag) || this.open(tag)
  }

  /** Whether this closing tag is part of a silent element. */
  close(tag: string): boolean {
    if (this.#depth === 0) return false
    if (tag === this.#tag) this.#depth--
    return true
  }
}

/**
 * Whether HTML shows its reader a text or an image. Reading stops at the first one, and the time is linear in the length, whatever
 * the nesting: every send is read here before it is accepted.
 */
export function hasVisibleContent(html: string): boolean {
  const finder = new Finder(html)
  const tokenizer = new Tokenizer({ decodeEntities: true }, finder)
  finder.onFound = () => tokenizer.pause()
  tokenizer.write(html)
  tokenizer.end()
  return finder.isFound
}

/** Its methods with `on` are the callbacks of the tokenizer; their numbers are places in the source. */
class Finder {
  readonly #source: string
  isFound = false
  onFound = (): void => {}
  #tag = ''
  #isSource = false
  #hasSource = false
  readonly #silent = new SilentElements()

  constructor(source: string) {
    this.#source = source
  }

  ontext(start: number, end: number): void {
    this.#see(this.#source.slice(start, end))
  }

  ontextentity(codePoint: number): void {
    this.#see(String.fromCodePoint(codePoint))
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#source.slice(start, end).toLowerCase()
    this.#hasSource = false
  }

  onattribname(start: number, end: number): void {
    this.#isSource = this.#source.slice(start, end).toLowerCase() === 'src'
  }

  onattribdata(start: number, end: number): void {
    this.#hasSource ||= this.#isSource && !isBlank(this.#source.slice(start, end))
  }

  onattribentity(): void {
    this.#hasSource ||= this.#isSource
  }

  onopentagend(): void {
    if (!this.#silent.open(this.#tag)) this.#begin()
  }

  onselfclosingtag(): void {
    if (!this.#silent.openAndClose(this.#tag)) this.#begin()
  }

  onclosetag(start: number, end: number): void {
    this.#silent.close(this.#source.slice(start, end).toLowerCase())
  }

  onattribend(): void {}
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}

  #begin(): void {
    if (this.#tag === 'img' && this.#hasSource) this.#find()
  }

  #see(text: string): void {
    if (this.#silent.tag === null && !isBlank(text)) this.#find()
  }

  #find(): void {
    this.isFound = true
    this.onFound()
  }
}
