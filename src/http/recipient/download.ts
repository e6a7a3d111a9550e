import type { FastifyReply } from 'fastify'
import { sendInPieces } from './large-responses.js'
import { privateHeaders } from './layout.js'

/** Sends a file as a download. The browser must never display it, whatever its content or name. */
export function sendDownload(reply: FastifyReply, { name, bytes }: { name: string; bytes: Buffer }): FastifyReply {
  reply.type('application/octet-stream').headers({
    ...privateHeaders,
    'content-disposition': contentDisposition(name),
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'x-download-options': 'noopen',
  })
  return sendInPieces(reply, bytes)
}

/** RFC 6266: an ASCII name for old browsers and the full name as in RFC 8187. */
function contentDisposition(name: string): string {
  const safe = name.replace(/[/\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '_').toWellFormed()
  const plain = safe
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(safe).replace(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
