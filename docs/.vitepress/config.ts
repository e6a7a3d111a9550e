import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { defineConfig } from 'vitepress'
import { highlighting } from './highlight.js'
import { readMarkdown } from './links.js'
import { engineers, english, portuguese } from './sidebar.js'
import { slugOf } from './slug.js'
import { englishWords, portugueseWords, searchWords } from './words.js'

const DOCS = new URL('..', import.meta.url).pathname
const OUT = new URL('../../dist/guide', import.meta.url).pathname
/** What documents offer to download. */
const FILES = ['exemplo-evidencia.zip', 'carteiro.postman_collection.json']
const COMPRESSED = /\.(html|js|css|svg|json)$/

const decisions = readdirSync(join(DOCS, 'adr'))
  .filter(name => /^\d{4}-/.test(name))
  .sort()
  .map(name => ({
    text: readFileSync(join(DOCS, 'adr', name), 'utf8')
      .split('\n')[0]!
      .replace('# ', ''),
    link: `/adr/${name.replace('.md', '')}`,
  }))

export default defineConfig({
  base: '/docs/guia/',
  outDir: OUT,
  cacheDir: join(DOCS, '../node_modules/.cache/guide'),
  cleanUrls: true,
  // Several at once enter the search in the order in which they are done, and no two builds would be the same.
  buildConcurrency: 1,
  // Site data in a file of its own: inline it would be a script whose hash changes from page to page.
  metaChunk: true,
  title: 'Carteiro',
  titleTemplate: ':title · Carteiro',
  description: 'Gateway de notificações que você mesmo hospeda: e-mail, SMS, WhatsApp, ligação e carta, com provas.',
  rewrites: { 'adr/README.md': 'adr/index.md' },
  // The other way would put a style element into the page for an instant, which its policy refuses.
  appearance: { disableTransition: false },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    ...highlighting,
    html: false,
    attrs: { disable: true },
    codeCopyButtonTitle: 'Copiar',
    anchor: { slugify: slugOf },
    config: readMarkdown,
  },
  themeConfig: {
    search: { provider: 'local', options: { locales: { root: { translations: searchWords } } } },
    externalLinkIcon: true,
    // Few pages are in English: the other language begins at its first page, not at one that is missing.
    i18nRouting: false,
  },
  locales: {
    root: {
      label: 'Português',
      lang: 'pt-BR',
      // The decisions are listed beside the engineers' pages alone: on every page they would be half of it.
      themeConfig: {
        ...portugueseWords,
        sidebar: {
          '/adr/': engineers(decisions),
          '/architecture': engineers(decisions),
          '/glossary': engineers(decisions),
          '/contributing': engineers(decisions),
          '/': portuguese,
        },
      },
    },
    en: { label: 'English', lang: 'en', link: '/en/', themeConfig: { ...englishWords, sidebar: english } },
  },
  vite: { build: { reportCompressedSize: false, assetsInlineLimit: 0 }, logLevel: 'warn' },
  buildEnd() {
    for (const name of FILES) copyFileSync(join(DOCS, name), join(OUT, name))
    // Compressed once, instead of at every request. Brotli would save a sixth and take longer than all the rest of the build.
    for (const name of readdirSync(OUT, { recursive: true, encoding: 'utf8' }).filter(name => COMPRESSED.test(name))) {
      writeFileSync(join(OUT, `${name}.gz`), gzipSync(readFileSync(join(OUT, name)), { level: 9 }))
    }
  },
})
