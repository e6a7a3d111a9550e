import { existsSync, statSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { engineers, english, portuguese } from '../../docs/.vitepress/sidebar.js'
import { slugOf } from '../../docs/.vitepress/slug.js'
import { documents } from '../support/documents.js'
import { ROOT, readSource } from '../support/sources.js'

const withoutCode = (text: string): string => text.replace(/^( *)```[\s\S]*?^\1```$/gm, '')
const prose = new Map(documents().map(path => [path, withoutCode(readSource(path))]))

/** A page that is another file under an address of its own. */
const included = (path: string): string => {
  const [, target] = /^<!--@include: (\S+)-->$/m.exec(prose.get(path)!) ?? []
  return target === undefined ? path : normalize(join(path, '..', target))
}

/** The anchors of a document; a heading that comes again is numbered. */
function anchorsOf(path: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading] of prose.get(included(path))!.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(heading!.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, ''))
    let unique = slug
    for (let count = 1; anchors.has(unique); count++) unique = `${slug}-${count}`
    anchors.add(unique)
  }
  return anchors
}

test('every link of a document leads to a file, and every anchor to a heading of it', () => {
  const links = [...prose].flatMap(([path, text]) =>
    [...text.replace(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, href]) => ({ path, href: decodeURI(href!) })),
  )
  expect(links.length).toBeGreaterThan(200)
  const isBroken = ({ path, href }: { path: string; href: string }): boolean => {
    if (/^[a-z]+:/.test(href)) return false
    const [file, anchor] = href.split('#') as [string, string | undefined]
    const target = file === '' ? path : normalize(join(path, '..', file))
    if (!existsSync(join(ROOT, target))) return true
    if (anchor === undefined) return false
    return statSync(join(ROOT, target)).isDirectory() || !anchorsOf(target).has(anchor)
  }
  expect(links.filter(isBroken).map(({ path, href }) => `${path} → ${href}`)).toEqual([])
})

test('every page of the guide is in the side bar, once, and the side bar names no other', () => {
  const addressOf = (path: string): string => path.replace(/^docs\/(.*?)(index|README)?\.md$/, '/$1')
  const pages = documents()
    .filter(path => path.startsWith('docs/') && !/^docs\/adr\/\d/.test(path))
    .map(addressOf)
  const listed = (groups: typeof portuguese): string[] => groups.flatMap(({ items }) => items.map(({ link }) => link))
  expect(listed(portuguese).filter((link, index, links) => links.indexOf(link) !== index)).toEqual([])
  // The side bar begins below the first page, which the title of the guide leads to.
  expect([...new Set(['/', ...listed(portuguese), ...listed(english)])].sort()).toEqual(pages.sort())
  expect(listed(engineers([{ text: '1', link: '/adr/0001' }]))).toContain('/adr/0001')
})

test('the first column of the README leads to every guide', () => {
  const guides = documents().filter(path => /^docs\/[a-z-]+\.md$/.test(path) && included(path) === path)
  const named = readSource('README.md')
  const elsewhere = ['docs/index.md', 'docs/configuracoes.md']
  expect(guides.filter(path => !named.includes(path) && !elsewhere.includes(path))).toEqual([])
})
