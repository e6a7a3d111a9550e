import type { FastifyInstance } from 'fastify'
import { sha256 } from '../../domain/evidence.js'
import type { Logo } from '../../store/accounts/accounts.js'
import { SCRIPT } from './script.js'
import { STYLE } from './style.js'

/** GET /r/…: style, script and logos. The path contains the hash, so that browsers may cache them for ever. */
const nameOf = (text: string): string => sha256(text).slice(0, 16)

export const STYLE_PATH = `/r/${nameOf(STYLE)}.css`
export const SCRIPT_PATH = `/r/${nameOf(SCRIPT)}.js`
export const logoPath = (hash: string): string => `/r/logo/${hash}`

const FOREVER = 'public, max-age=31536000, immutable'
/** An SVG that is opened directly is a document; this policy forbids scripts in it. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

export function addAssets(app: FastifyInstance, { findLogo }: { findLogo(hash: string): Promise<Logo | null> }): void {
  const texts = [
    { path: STYLE_PATH, type: 'text/css; charset=utf-8', text: STYLE },
    { path: SCRIPT_PATH, type: 'text/javascript; charset=utf-8', text: SCRIPT },
  ]
  for (const { path, type, text } of texts) {
    app.get(path, { schema: { hide: true } }, async (_request, reply) =>
      reply.type(type).header('cache-control', FOREVER).header('x-content-type-options', 'nosniff').send(text),
    )
  }
  app.get<{ Params: { hash: string } }>('/r/logo/:hash', { schema: { hide: true } }, async (request, reply) => {
    const { hash } = request.params
    const logo = /^[0-9a-f]{64}$/.test(hash) ? await findLogo(hash) : null
    if (logo === null) return reply.callNotFound()
    return reply
      .type(logo.type)
      .header('cache-control', FOREVER)
      .header('x-content-type-options', 'nosniff')
      .header('content-security-policy', PICTURE_POLICY)
      .send(logo.bytes)
  })
}
