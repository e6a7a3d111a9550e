import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '../domain/text/html.js'
import { GATEWAY_FOOTER, sendPage } from './recipient/layout.js'
import { CACHE_FOREVER, REVALIDATE, readStaticFiles, type StaticFile, sendStaticFile } from './static-files.js'

export interface GuideOptions {
  /** What `npm run build` made of docs/. */
  folder: string
}

interface Guide {
  files: ReadonlyMap<string, StaticFile>
  policy: string
}

/** GET /docs/guia and below: the documents of the product, with their search, as static files. */
export function addGuide(app: FastifyInstance, { folder }: GuideOptions): void {
  // At the first reader: megabytes that most processes are never asked for.
  let guide: Guide | null = null
  const open = (): Guide | null => {
    if (guide === null && existsSync(join(folder, 'index.html'))) guide = readGuide(folder)
    return guide
  }
  const show = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const found = open()
    if (found === null) return sendPage(reply, 503, missingPage)
    const [path, query] = request.url.split('?') as [string, string | undefined]
    const name = decodeURI(path.slice('/docs/guia'.length))
    // The pages find each other from the address of their folder, which ends with a slash.
    if (!name.endsWith('/') && found.files.has(`${name}/index.html`.slice(1))) {
      return reply.redirect(`${path}/${query === undefined ? '' : `?${query}`}`, 308)
    }
    const { file, status } = find(found.files, name.slice(1))
    if (file === undefined) return reply.callNotFound()
    if (file.type.startsWith('text/html')) {
      reply.code(status).headers({
        'content-security-policy': found.policy,
        'referrer-policy': 'same-origin',
        'x-frame-options': 'DENY',
      })
    }
    return sendStaticFile(request, reply, file, name.startsWith('/assets/') ? CACHE_FOREVER : REVALIDATE)
  }
  const hidden = { schema: { hide: true } }
  app.get('/docs/guia', hidden, show)
  app.get('/docs/guia/*', hidden, show)
}

/** A page is asked for without its `.html`. Whoever asks for a page that is not there gets one that says so. */
function find(files: Guide['files'], name: string): { file: StaticFile | undefined; status: number } {
  const names = name === '' || name.endsWith('/') ? [`${name}index.html`] : [name, `${name}.html`]
  const file = names.map(one => files.get(one)).find(one => one !== undefined)
  if (file !== undefined || /\.\w+$/.test(name)) return { file, status: 200 }
  return { file: files.get('404.html'), status: 404 }
}

function readGuide(folder: string): Guide {
  const files = readStaticFiles(folder)
  const pages = [...files].filter(([name]) => name.endsWith('.html')).map(([, { plain }]) => plain.toString())
  return { files, policy: policyFor(pages) }
}

/** What the pages hold inline is allowed by its hash, and nothing else; nothing comes from elsewhere. */
function policyFor(pages: readonly string[]): string {
  const scripts = hashesOf(pages, /<script(?![^>]*\bsrc=)[^>]*>([\s\S]+?)<\/script>/g)
  // The search sets an empty style, which would be reported as refused.
  const styles = hashesOf(['<a style="">', ...pages], /<[a-z][^>]*\sstyle="([^"]*)"/g)
  return [
    "default-src 'none'",
    `script-src 'self' ${scripts}`,
    `style-src 'self' 'unsafe-hashes' ${styles}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function hashesOf(pages: readonly string[], pattern: RegExp): string {
  const texts = new Set(pages.flatMap(page => [...page.matchAll(pattern)].map(([, text]) => text!)))
  return [...texts].map(text => `'sha256-${createHash('sha256').update(text).digest('base64')}'`).join(' ')
}

const missingPage = {
  title: 'O guia não foi compilado',
  brand: null,
  footer: GATEWAY_FOOTER,
  body: html`<section class="card"><h1>O guia não foi compilado</h1>
<p>As páginas do guia são feitas por <code>npm run build</code>, que <code>npm install</code> e <code>npm start</code> executam. Execute-o e abra esta página de novo.</p>
</section>`,
}
