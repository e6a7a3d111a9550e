import type { FastifyInstance } from 'fastify'
import { sha256 } from '../../domain/evidence/evidence.js'
import { logoPath } from '../../domain/send/logo.js'
import type { Logo } from '../../store/accounts/accounts.js'
import { STYLE } from './style.js'

/** The script reports an automated browser, offers to print and fits the frame to its content. The pages work without it. */
const SCRIPT = `
for (const field of document.querySelectorAll('input[name=guiado]')) field.value = navigator.webdriver ? '1' : '0'
for (const button of document.querySelectorAll('button[data-print]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}
const frame = document.querySelector('iframe.content')
if (frame) {
  addEventListener('message', ({ source, data }) => {
    if (source !== frame.contentWindow) return
    const fits = typeof data === 'number' && data > 0 && data < 4000000
    frame.classList.toggle('whole', fits)
    frame.style.height = fits ? Math.ceil(data) + 2 + 'px' : ''
  })
  frame.contentWindow.postMessage('', '*')
}
`.trim()

const nameOf = (text: string): string => sha256(text).slice(0, 16)

export const STYLE_PATH = `/r/${nameOf(STYLE)}.css`
export const SCRIPT_PATH = `/r/${nameOf(SCRIPT)}.js`

const headers = { 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' }
/** An SVG that is opened directly is a document; this policy forbids scripts in it. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** GET /r/…: style, script and logos. The path contains the hash, so that browsers may cache them without end. */
export function addAssets(app: FastifyInstance, { findLogo }: { findLogo(hash: string): Promise<Logo | null> }): void {
  const hidden = { schema: { hide: true } }
  app.get(STYLE_PATH, hidden, async (_, reply) => reply.type('text/css; charset=utf-8').headers(headers).send(STYLE))
  app.get(SCRIPT_PATH, hidden, async (_, reply) => reply.type('text/javascript; charset=utf-8').headers(headers).send(SCRIPT))
  app.get<{ Params: { hash: string } }>(logoPath(':hash'), hidden, async ({ params: { hash } }, reply) => {
    const logo = /^[0-9a-f]{64}$/.test(hash) ? await findLogo(hash) : null
    if (logo === null) return reply.callNotFound()
    return reply
      .type(logo.type)
      .headers({ ...headers, 'content-security-policy': PICTURE_POLICY })
      .send(logo.bytes)
  })
}
