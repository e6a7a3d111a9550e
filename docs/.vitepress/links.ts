import type { MarkdownRenderer } from 'vitepress'

/** Files of the project that are pages of the guide under another name. Documents link to them as a reader of the repository finds them. */
const MIRRORED: Readonly<Record<string, string>> = {
  'README.md': '/',
  'README.en.md': '/en/',
  'CHANGELOG.md': '/mudancas',
  'CONTRIBUTING.md': '/contributing',
  '.env.example': '/configuracoes',
  docs: '/',
  'docs/adr': '/adr/',
}

/** Where a link of a document leads in the guide: everything is said from the root, because a mirrored file lies elsewhere. */
function guideLink(href: string, source: string): string {
  if (/^[a-z]+:|^#|^\//.test(href)) return href
  const [path, hash] = href.split('#') as [string, string | undefined]
  const target = new URL(path, `file:///${source}`).pathname.slice(1).replace(/\/$/, '')
  const end = hash === undefined ? '' : `#${hash}`
  if (MIRRORED[target] !== undefined) return MIRRORED[target] + end
  if (target.startsWith('docs/'))
    return `/${target
      .slice('docs/'.length)
      .replace(/\.md$/, '')
      .replace(/(^|\/)(index|README)$/, '$1')}${end}`
  throw new Error(`${source}: ${href} is not a page of the guide`)
}

/** The file that a page of the guide shows: itself, or the one that it includes. */
function sourceOf(page: string): string {
  const mirrored = { 'mudancas.md': 'CHANGELOG.md', 'contributing.md': 'CONTRIBUTING.md', 'en/index.md': 'README.en.md' }[page]
  return mirrored ?? `docs/${page.replace(/^adr\/index\.md$/, 'adr/README.md')}`
}

/** Pages in English among the Portuguese ones: screen readers pronounce them by it. */
const isEnglish = (page: string): boolean => /^(adr\/|(architecture|glossary|contributing)\.md)/.test(page)

export function readMarkdown(md: MarkdownRenderer): void {
  // Braces are examples of templates here, and never Vue's.
  for (const kind of ['text', 'code_inline'] as const) {
    const render = md.renderer.rules[kind]!
    md.renderer.rules[kind] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
  md.core.ruler.push('guide-links', state => {
    const { relativePath } = state.env as { relativePath: string }
    for (const { children } of state.tokens) {
      for (const token of children ?? []) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (href !== null) token.attrSet('href', guideLink(decodeURI(href), sourceOf(relativePath)))
      }
    }
  })
  const render = md.render.bind(md)
  md.render = (source, env) => {
    const rendered = render(source, env)
    if (isEnglish(env.relativePath)) return `<div lang="en">${rendered}</div>`
    return env.relativePath.startsWith('en/') ? rendered : rendered.replaceAll('"Permalink to ', '"Link para ')
  }
}
