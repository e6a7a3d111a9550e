import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { findUnknownMembers, type UnknownMembers } from '../domain/schema.js'

const WARNING_HEADER = 'x-carteiro-aviso'
/** The longest name, as it is written. */
const MAX_LENGTH = 120

/**
 * A preHandler for the routes with a JSON body: members that nothing reads are accepted, and named in a header, because a misspelt
 * optional member would otherwise go unnoticed. The header `Warning` itself is obsolete (RFC 9111, 5.5).
 */
export async function nameUnknownMembers({ body, routeOptions }: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (body !== undefined && !Buffer.isBuffer(body) && !(body instanceof Readable))
    warnOfUnknown(reply, findUnknownMembers(routeOptions.schema?.body ?? {}, body))
}

export function warnOfUnknown(reply: FastifyReply, { paths, count }: UnknownMembers): void {
  if (count === 0) return
  const more = count > paths.length ? `, e mais ${count - paths.length}` : ''
  const [noun, adjective] = count === 1 ? ['membro', 'desconhecido'] : ['membros', 'desconhecidos']
  reply.header(WARNING_HEADER, `${noun} ${adjective}: ${paths.map(writePath).join(', ')}${more}`)
}

/** Percent-encoded, so that no name can end the header, add one, or look like two names. */
function writePath(path: string): string {
  let written = ''
  for (const character of path.toWellFormed()) {
    const next = '[]'.includes(character) ? character : encodeURIComponent(character)
    if (written.length + next.length > MAX_LENGTH) return `${written}...`
    written += next
  }
  return written
}
