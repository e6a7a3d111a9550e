import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '../../domain/text/html.js'
import { GATEWAY_FOOTER, sendPage } from '../recipient/layout.js'
import { CACHE_FOREVER, readStaticFiles, type StaticFile, sendStaticFile } from '../static-files.js'

export interface ConsolePageOptions {
  /** What `npm run build` made. */
  folder: string
}

/** The place in the page where the nonce of each answer goes. */
const NONCE = '__NONCE__'

/** No inline script and nothing from elsewhere. The nonce is for the style elements that the dialogs add. */
const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "frame-src 'self' blob:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * The page in which markup of senders is shown. A document made by our page would inherit the policy of our page, which forbids the
 * styles of e-mails, so this one has a policy of its own: it runs one script of ours, which shows what our page hands over in a frame
 * in which nothing runs, and nothing is loaded from elsewhere. It has no origin, so that it reaches neither our page nor the cookie.
 */
const FRAME_SCRIPT = `addEventListener('message', ({ source, data }) => {
  if (source === parent && typeof data === 'string') document.querySelector('iframe').srcdoc = data
})`
const FRAME = `<!doctype html><html lang="pt-BR"><title>Prévia</title><style>html,body,iframe{display:block;width:100%;height:100%;margin:0;border:0}</style>
<body><iframe title="Prévia" sandbox=""></iframe><script>${FRAME_SCRIPT}</script></body></html>`
const framePolicy = [
  'sandbox allow-scripts',
  "default-src 'none'",
  `script-src 'sha256-${createHash('sha256').update(FRAME_SCRIPT).digest('base64')}'`,
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ')

/** GET /console and below: one page that finds its way by the address, and its files, whose names contain their hashes. */
export function addConsolePages(app: FastifyInstance, { folder }: ConsolePageOptions): void {
  const page = existsSync(join(folder, 'index.html')) ? readFileSync(join(folder, 'index.html'), 'utf8') : null
  const assets = page === null ? new Map<string, StaticFile>() : readStaticFiles(join(folder, 'assets'))
  const hidden = { schema: { hide: true } }

  const show = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (page === null) return sendPage(reply, 503, missingPage)
    const nonce = randomBytes(16).toString('base64')
    return reply
      .type('text/html; charset=utf-8')
      .headers({
        'content-security-policy': policy(nonce),
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-robots-tag': 'noindex, nofollow',
      })
      .send(page.replaceAll(NONCE, nonce))
  }
  app.get('/console/frame', hidden, (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .headers({
        'content-security-policy': framePolicy,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'SAMEORIGIN',
        'x-robots-tag': 'noindex, nofollow',
      })
      .send(FRAME),
  )
  app.get('/console', hidden, show)
  app.get('/console/*', hidden, show)
  app.get<{ Params: { name: string } }>('/console/assets/:name', hidden, (request, reply) => {
    const asset = assets.get(request.params.name)
    if (asset === undefined) return reply.callNotFound()
    return sendStaticFile(request, reply, asset, CACHE_FOREVER)
  })
}

const missingPage = {
  title: 'O console não foi compilado',
  brand: null,
  footer: GATEWAY_FOOTER,
  body: html`<section class="card"><h1>O console não foi compilado</h1>
<p>As páginas do console são feitas por <code>npm run build</code>, que <code>npm install</code> e <code>npm start</code> executam. Execute-o e reinicie o serviço.</p>
</section>`,
}
