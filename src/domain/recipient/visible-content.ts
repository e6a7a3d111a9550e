import { Tokenizer } from 'htmlparser2'
import { isBlank } from '../text/text.js'

/** The elements that no recipient sees anything of, with all that is inside them. */
export const SILENT_ELEMENTS: ReadonlySet<string> = new Set(
  'script style title textarea xmp iframe object svg math template select noembed noframes audio video canvas applet'.split(' '),
)

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
  /** The silent element that is being passed over, and how often it is open. */
  #silent = { tag: '', depth: 0 }

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
    if (this.#silent.depth > 0) {
      if (this.#tag === this.#silent.tag) this.#silent.depth++
    } else if (SILENT_ELEMENTS.has(this.#tag)) this.#silent = { tag: this.#tag, depth: 1 }
    else if (this.#tag === 'img' && this.#hasSource) this.#find()
  }

  onselfclosingtag(): void {
    if (!SILENT_ELEMENTS.has(this.#tag)) this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    if (this.#silent.depth > 0 && this.#source.slice(start, end).toLowerCase() === this.#silent.tag) this.#silent.depth--
  }

  onattribend(): void {}
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}

  #see(text: string): void {
    if (this.#silent.depth === 0 && !isBlank(text)) this.#find()
  }

  #find(): void {
    this.isFound = true
    this.onFound()
  }
}
