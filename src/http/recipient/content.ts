import sanitizeHtml from 'sanitize-html'

const inline = ['style', 'class', 'align', 'dir', 'lang', 'title']
const box = ['width', 'height', 'bgcolor', 'valign', 'border', 'cellpadding', 'cellspacing', 'colspan', 'rowspan', 'role']

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
  },
}

/** Allows popups, so that links open in a new tab, but no scripts, no forms and no origin. */
export const FRAME_SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

export const CONTENT_POLICY = `default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox ${FRAME_SANDBOX}`

const STYLE =
  'body{margin:0;padding:1rem;background:#fff;color:#1b2430;font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}img{max-width:100%;height:auto}table{max-width:100%}'

/** Cleans the sender's HTML: only elements for text and pictures remain. The policy above lets no script run either. */
export const cleanContent = (content: string): string => sanitizeHtml(content, OPTIONS)

export const contentPage = (cleaned: string): string =>
  `<!doctype html><html lang="pt-BR"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Conteúdo da notificação</title><style>${STYLE}</style></head><body>${cleaned}</body></html>`

/** Replaces a content that takes too long to clean. */
export const UNSHOWN = '<p>Esta mensagem é grande ou complexa demais para ser mostrada aqui. Use “Baixar a mensagem”, abaixo.</p>'
