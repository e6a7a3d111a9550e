/** HTML that is safe to send: made by the tag below, which escapes every value that is not HTML itself. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | string | number | null | false | readonly Value[]

export const html = (strings: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(strings.reduce((text, string, index) => text + render(values[index - 1]!) + string))

function render(value: Value): string {
  if (value instanceof Html) return value.text
  if (value === null || value === false) return ''
  if (typeof value === 'object') return value.map(render).join('')
  return String(value).replace(/[&<>"']/g, character => ESCAPES[character]!)
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
