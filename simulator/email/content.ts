import { createHash } from 'node:crypto'
import PostalMime from 'postal-mime'

/** The parsed mail. It is parsed on demand and not stored, because that would double the memory. */
export interface Content {
  headers: { name: string; value: string }[]
  text: string | null
  html: string | null
  links: string[]
  attachments: Attachment[]
}

interface Attachment {
  name: string
  type: string
  size: number
  sha256: string
  bytes: Uint8Array
}

export async function readContent(raw: Buffer): Promise<Content> {
  const email = await PostalMime.parse(raw, { forceRfc822Attachments: true })
  return {
    headers: email.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    text: email.text ?? null,
    html: email.html ?? null,
    links: email.html === undefined ? linksInText(email.text ?? '') : linksIn(email.html),
    attachments: email.attachments.map(({ filename, mimeType, content }, index) => {
      const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content)
      return {
        name: filename ?? `anexo-${index + 1}`,
        type: mimeType,
        size: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        bytes,
      }
    }),
  }
}

/** The targets of the links in a page, each once, in order. */
export const linksIn = (html: string): string[] =>
  unique(
    tagsOf(html)
      .filter(({ name }) => name === 'a' || name === 'area')
      .map(({ attributes }) => attributes.get('href')),
  )

/** The image that tells the sender that the mail was opened: its path contains /o/. */
export const trackingImageIn = (html: string): string | null =>
  unique(
    tagsOf(html)
      .filter(({ name }) => name === 'img')
      .map(({ attributes }) => attributes.get('src')),
  ).find(url => new URL(url).pathname.includes('/o/')) ?? null

const linksInText = (text: string): string[] => unique(text.match(/https?:\/\/[^\s<>"]+/g) ?? [])

const unique = (urls: Iterable<string | undefined>): string[] => [
  ...new Set([...urls].filter(url => url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url)) as string[]),
]

interface Tag {
  name: string
  attributes: Map<string, string>
}

const ATTRIBUTE = /[\s/]+|([^\s=>/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?|[^>]/y

/** The opening tags of a page and their attributes, without those inside comments. */
function tagsOf(html: string): Tag[] {
  const tags: Tag[] = []
  const start = /<!--|<([a-z][a-z0-9]*)(?=[\s/>])/gi
  for (let match = start.exec(html); match !== null; match = start.exec(html)) {
    if (match[1] === undefined) {
      const end = html.indexOf('-->', start.lastIndex)
      if (end === -1) break
      start.lastIndex = end
      continue
    }
    const attributes = new Map<string, string>()
    ATTRIBUTE.lastIndex = start.lastIndex
    for (let found = ATTRIBUTE.exec(html); found !== null; found = ATTRIBUTE.exec(html)) {
      const name = found[1]?.toLowerCase()
      if (name !== undefined && !attributes.has(name)) {
        attributes.set(name, decodeEntities(found[2] ?? found[3] ?? found[4] ?? '').trim())
      }
      start.lastIndex = ATTRIBUTE.lastIndex
    }
    tags.push({ name: match[1].toLowerCase(), attributes })
  }
  return tags
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const decodeEntities = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()]!
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
