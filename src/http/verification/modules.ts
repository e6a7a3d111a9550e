import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { sha256 } from '../../domain/evidence/evidence.js'

/**
 * The verifier's modules for browsers: the very files that Node runs, and no others. A test compares this list with what they
 * import.
 */
export const browserModules = [
  'domain/evidence/canonical-json.js',
  'domain/text/dates.js',
  'domain/text/zone-offset.js',
  'domain/units.js',
  'evidence/verify/bundle.js',
  'evidence/verify/bytes.js',
  'evidence/verify/events.js',
  'evidence/verify/fault.js',
  'evidence/verify/files.js',
  'evidence/verify/json-file.js',
  'evidence/verify/log.js',
  'evidence/verify/manifest.js',
  'evidence/verify/merkle.js',
  'evidence/verify/note.js',
  'evidence/verify/time-stamp.js',
  'evidence/verify/verdict.js',
  'evidence/verify/zip-form.js',
  'evidence/verify/zip.js',
  'http/verification/verify-page.js',
] as const

export const ENTRY: (typeof browserModules)[number] = 'http/verification/verify-page.js'

const headers = { 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' }

/** GET /r/{hash}/…: the modules, in their folders, so that they find each other. Returns the address of the first one. */
export function addBrowserModules(app: FastifyInstance): string {
  const sources = browserModules.map(path => ({ path, text: readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8') }))
  const base = `/r/${sha256(sources.map(({ text }) => text).join('\0')).slice(0, 16)}`
  for (const { path, text } of sources)
    app.get(`${base}/${path}`, { schema: { hide: true } }, async (_, reply) =>
      reply.type('text/javascript; charset=utf-8').headers(headers).send(text),
    )
  return `${base}/${ENTRY}`
}
