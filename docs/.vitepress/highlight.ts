import type { MarkdownOptions } from 'vitepress'

/** Kinds of words in code. Their colours are in theme/style.css, as classes: the policy of the pages refuses styles inside markup. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  comment: ['comment', 'punctuation.definition.comment'],
  string: ['string', 'constant.character.escape'],
  number: ['constant.numeric', 'constant.language'],
  name: ['support.type.property-name', 'variable.other.readwrite', 'variable.parameter', 'entity.name.tag'],
  keyword: ['keyword', 'storage', 'support.type', 'variable.language'],
  call: ['entity.name.function', 'support.function', 'entity.name.command'],
}
const kinds = Object.keys(KINDS)
const colourOf = (kind: string): string => `#00000${kinds.indexOf(kind) + 1}`

export const highlighting: Pick<MarkdownOptions, 'theme' | 'codeTransformers'> = {
  theme: {
    name: 'carteiro',
    type: 'light',
    colors: { 'editor.foreground': '#000000', 'editor.background': '#ffffff' },
    settings: kinds.map(kind => ({ scope: [...KINDS[kind]!], settings: { foreground: colourOf(kind) } })),
  },
  codeTransformers: [
    {
      name: 'classes-for-styles',
      pre(node) {
        delete node.properties.style
      },
      span(node) {
        const kind = kinds.find(one => String(node.properties.style).toLowerCase().includes(colourOf(one)))
        delete node.properties.style
        if (kind !== undefined) node.properties.class = `code-${kind}`
      },
    },
  ],
}
