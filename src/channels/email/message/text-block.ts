/** White space that browsers show as one space, and the zero width space. A no-break space is a character as any other. */
const WHITE_SPACE = /[ \t\r\n\f\u200b]{2,}|[\t\r\n\f\u200b]/g

export const withoutWhiteSpace = (text: string): string => text.replace(/[ \t\r\n\f\u200b]+/g, '')

/** Builds the text of a document, a list item, a quotation or a table cell. */
export class TextBlock {
  #text = ''
  /** Line breaks that the elements before and after this place ask for: the largest number counts, as of margins in browsers. */
  #breaks = 0
  /** Line breaks that the content itself has here. */
  #lineBreaks = 0
  #hasSpace = false
  #isInLine = false
  #leading = 0

  get text(): string {
    return this.#text
  }

  get isEmpty(): boolean {
    return this.#text === ''
  }

  /** The line breaks that the first element asks for before the block. */
  get leading(): number {
    return this.#leading
  }

  /** The line breaks that the last element asks for after the block. */
  get trailing(): number {
    return this.#breaks
  }

  write(text: string): void {
    const collapsed = text.replace(WHITE_SPACE, ' ')
    const start = collapsed.startsWith(' ') ? 1 : 0
    if (start === 1) this.#hasSpace = true
    if (start === collapsed.length) return
    const endsInSpace = collapsed.endsWith(' ')
    this.#append(collapsed.slice(start, endsInSpace ? -1 : undefined))
    this.#hasSpace = endsInSpace
  }

  /** Keeps white space, as in <pre>. */
  writeLines(text: string): void {
    for (const [place, line] of text.split(/\r\n?|\n/).entries()) {
      if (place > 0) this.breakLine()
      if (line !== '') this.#append(line)
    }
  }

  breakLine(): void {
    this.#lineBreaks++
  }

  /** Begins a new line, with `breaks - 1` empty lines before it. A line break at the end of the last line shows nothing in browsers. */
  separate(breaks: number): void {
    if (this.#isInLine && this.#lineBreaks > 0) this.#lineBreaks--
    this.#isInLine = false
    this.#breaks = Math.max(this.#breaks, breaks)
  }

  /** Adds lines that are complete. */
  add(text: string, before: number, after: number): void {
    this.separate(before)
    if (text !== '') this.#append(text)
    this.separate(after)
  }

  #append(text: string): void {
    const breaks = this.#breaks + this.#lineBreaks
    if (this.#text === '') this.#leading = this.#breaks
    else if (breaks > 0) this.#text += '\n'.repeat(breaks)
    else if (this.#hasSpace) this.#text += ' '
    this.#text += text
    this.#breaks = 0
    this.#lineBreaks = 0
    this.#hasSpace = false
    this.#isInLine = true
  }
}
