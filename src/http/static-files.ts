import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { header } from './auth.js'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.zip': 'application/zip',
}
const ENCODINGS: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

export interface StaticFile {
  type: string
  plain: Buffer
  encoded: ReadonlyMap<string, Buffer>
}

/** Cache-Control of files whose names contain a hash of their content. */
export const CACHE_FOREVER = 'public, max-age=31536000, immutable'
/** Cache-Control of files whose content may change under the same name. */
export const REVALIDATE = 'no-cache'

/** All files of a folder, by their paths in it. Read once: a file that is replaced while it is served would be half old. */
export function readStaticFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const known = new Set(names)
  return new Map(
    names
      .filter(name => TYPES[extname(name)] !== undefined)
      .map(name => [
        name,
        {
          type: TYPES[extname(name)]!,
          plain: readFileSync(join(folder, name)),
          encoded: new Map(
            Object.entries(ENCODINGS)
              .filter(([, end]) => known.has(name + end))
              .map(([encoding, end]) => [encoding, readFileSync(join(folder, name + end))]),
          ),
        },
      ]),
  )
}

/** Compressed as the build left it, where the browser takes that. */
export function sendStaticFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile, caching: string): FastifyReply {
  const accepted = header(request, 'accept-encoding') ?? ''
  const encoding = Object.keys(ENCODINGS).find(name => accepted.includes(name) && file.encoded.has(name))
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  return reply
    .type(file.type)
    .headers({ 'cache-control': caching, vary: 'Accept-Encoding', 'x-content-type-options': 'nosniff' })
    .send(encoding === undefined ? file.plain : file.encoded.get(encoding))
}
