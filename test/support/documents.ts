import { listFiles, readSource } from './sources.js'

/** A fenced block of a document: `lang` and the other words after the fence. */
export interface Block {
  path: string
  line: number
  lang: string
  words: string[]
  text: string
}

/** The documents that users and engineers read. */
export const documents = (): string[] => listFiles().filter(path => path.endsWith('.md'))

/** In English, with the very examples of the Portuguese one. */
export const isMirror = (path: string): boolean => path === 'README.en.md' || path.startsWith('docs/en/')

export const nameOf = ({ path, line }: Block): string => `${path}:${line}`

export function readBlocks(path: string): Block[] {
  const blocks: Block[] = []
  let open: { indent: string; block: Block } | null = null
  for (const [index, line] of readSource(path).split('\n').entries()) {
    const [, indent, info] = /^( *)```(.*)$/.exec(line) ?? []
    if (open !== null && info === '') {
      blocks.push(open.block)
      open = null
    } else if (open !== null) {
      open.block.text += `${line.slice(open.indent.length)}\n`
    } else if (info !== undefined) {
      const [lang = '', ...words] = info.split(' ')
      open = { indent: indent!, block: { path, line: index + 1, lang, words, text: '' } }
    }
  }
  if (open !== null) throw new Error(`${path}:${open.block.line}: the block does not end`)
  return blocks
}
