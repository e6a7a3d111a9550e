import { hash } from 'node:crypto'
import sanitizeHtml from 'sanitize-html'
import { keepAmounts, tableDefaults } from '../../domain/recipient/readable-content.js'

const inline = ['style', 'class', 'align', 'dir', 'lang', 'title']
const box = [
  'width',
  'height',
  'bgcolor',
  'valign',
  'border',
  'cellpadding',
  'cellspacing',
  'colspan',
  'rowspan',
  'role',
  'rules',
]

const OPTIONS: sanitizeHtml.IOptions = {
  allowedTags: [
    ...sanitizeHtml.defaults.allowedTags,
    ...['img', 'center', 'font', 'del', 'ins', 'strike', 'big', 'tt', 'details', 'summary'],
  ],
  allowedAttributes: {
    '*': [...inline, ...box],
    a: ['href', 'name', 'target', 'rel'],
    img: ['src', 'alt'],
    font: ['color', 'face', 'size'],
    ol: ['start', 'type'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowedSchemesByTag: { img: ['https', 'data'] },
  allowProtocolRelative: false,
  nestingLimit: 200,
  // Inline styles can load only pictures, which the policy below restricts.
  parseStyleAttributes: false,
  transformTags: {
    a: (tagName, attribs) => ({ tagName, attribs: { ...attribs, target: '_blank', rel: 'noopener noreferrer nofollow' } }),
    table: (tagName, attribs) => ({
      tagName,
      attribs: { ...attribs, ...Object.fromEntries(tableDefaults(new Map(Object.entries(attribs)))) },
    }),
  },
  textFilter: keepAmounts,
}

/** Allows popups, so that links open in a new tab, but no scripts, no forms and no origin. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'
const RULES =
  "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

/**
 * Runs inside the frame and posts the height of the content, so that the page shows all of it. A content that grows with its own
 * frame, such as one of 110vh, gets the fallback height (0) instead of a frame without end.
 */
const MEASURE = `
const { body, documentElement: root } = document
let told = 0
let growths = 0
const tell = () => {
  const height = body.scrollHeight + innerHeight - root.clientHeight
  if (height > told) growths++
  told = height
  parent.postMessage(growths > 30 ? 0 : height, '*')
}
const focusWide = () => {
  for (const box of document.querySelectorAll('.wide-table')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
    else box.removeAttribute('tabindex')
  }
}
addEventListener('message', event => event.source === parent && tell())
addEventListener('click', () => { growths = 0 })
new ResizeObserver(() => { tell(); focusWide() }).observe(body)
`.trim()

/** Our own script runs in the frame, by its hash and no other: the frame has no origin, and so reaches neither page nor cookies. */
export const FRAME_SANDBOX = `allow-scripts ${SANDBOX}`
export const FRAMED_POLICY = `${RULES}; script-src 'sha256-${hash('sha256', MEASURE, 'base64')}'; sandbox ${FRAME_SANDBOX}`
export const CONTENT_POLICY = `${RULES}; sandbox ${SANDBOX}`

/**
 * Many phones hide the scroll bar of a table that goes on beyond the screen. Ours is always there, and where the script of the frame
 * finds such a table, which it makes reachable by keyboard, a line says so.
 */
const TABLE_STYLE =
  '.wide-table::-webkit-scrollbar{height:10px}.wide-table::-webkit-scrollbar-track{background:#e8ebef;border-radius:5px}.wide-table::-webkit-scrollbar-thumb{background:#77818d;border-radius:5px}.wide-table[tabindex]::before{content:"Role a tabela para o lado: há mais colunas.";position:sticky;left:0;display:block;margin-bottom:.35rem;color:#55606e;font-size:.9rem}'

/** Words break anywhere, but not inside tables: there every column would shrink to the width of a letter. */
const STYLE =
  'body{position:relative;margin:0;padding:1rem;background:#fff;color:#1b2430;font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}img{max-width:100%;height:auto}table{max-width:100%;overflow-wrap:normal}pre,.wide-table{max-width:100%;overflow-x:auto}'

/** Cleans the sender's HTML: only elements for text and pictures remain. The policy above lets no script of theirs run either. */
export const cleanContent = (content: string): string => wrapTables(sanitizeHtml(content, OPTIONS))

/** A table that is wider than the screen scrolls sideways by itself. The cleaned HTML is well formed, so that its tags can be counted. */
function wrapTables(cleaned: string): string {
  let depth = 0
  return cleaned.replace(/<(\/?)table\b[^>]*>/g, (tag, closing: string) => {
    if (closing === '') return depth++ === 0 ? `<div class="wide-table">${tag}` : tag
    return --depth === 0 ? `${tag}</div>` : tag
  })
}

const page = (cleaned: string, script: string): string =>
  `<!doctype html><html lang="pt-BR"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Conteúdo da notificação</title><style>${STYLE}${TABLE_STYLE}</style></head><body>${cleaned}${script}</body></html>`

/** The content by itself, on the screen or as a file. */
export const contentPage = (cleaned: string): string => page(cleaned, '')
export const framedPage = (cleaned: string): string => page(cleaned, `<script>${MEASURE}</script>`)

/** Replaces a content that takes too long to clean. */
export const UNSHOWN = '<p>Esta mensagem é grande ou complexa demais para ser mostrada aqui. Use “Baixar uma cópia”, abaixo.</p>'
