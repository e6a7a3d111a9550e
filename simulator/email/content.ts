import { createHash } from 'node:crypto'
import { Parser } from 'htmlparser2'
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
      .map(({ attributes }) => attributes.href?.trim()),
  )

/** The image that tells the sender that the mail was opened: its path contains /o/. */
export const trackingImageIn = (html: string): string | null =>
  unique(
    tagsOf(html)
      .filter(({ name }) => name === 'img')
      .map(({ attributes }) => attributes.src?.trim()),
  ).find(url => new URL(url).pathname.includes('/o/')) ?? null

const linksInText = (text: string): string[] => unique(text.match(/https?:\/\/[^\s<>"]+/g) ?? [])

const unique = (urls: Iterable<string | undefined>): string[] => [
  ...new Set([...urls].filter(url => url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url)) as string[]),
]

interface Tag {
  name: string
  attributes: Record<string, string>
}

function tagsOf(html: string): Tag[] {
  const tags: Tag[] = []
  new Parser({ onopentag: (name, attributes) => tags.push({ name, attributes }) }).end(html)
  return tags
}
