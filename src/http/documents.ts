import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { DocumentRoute } from '../channels/channel-contract.js'
import type { DocumentReader, DocumentSource } from '../channels/channel-runtime.js'
import { Refusal } from '../domain/errors.js'
import { readLinkCode } from '../domain/recipient/link.js'
import { answerDocumentError } from './people.js'

export interface ServedDocument {
  route: DocumentRoute
  /** Signs the addresses of this kind of document alone. */
  key: Buffer
  reader: DocumentReader
}

const PIECE = 262_144

/** The documents of channels (recordings, receipts), each for the holder of its address. */
export function addDocuments(app: FastifyInstance, documents: readonly ServedDocument[]): void {
  app.register(async scope => {
    scope.setErrorHandler(answerDocumentError)
    addRoutes(scope, documents)
  })
}

function addRoutes(app: FastifyInstance, documents: readonly ServedDocument[]): void {
  for (const { route, key, reader } of documents) {
    const { path, extension, contentType, fileName, madeOnDemand = false, headers, missing, expired = missing } = route
    app.get<{ Params: { code: string } }>(`${path}/:code`, { schema: { hide: true } }, async (request, reply) => {
      const target = readLinkCode(key, request.params.code.replace(new RegExp(`\\.${extension}$`), ''))
      const source = target === null ? null : await reader.open(target.notification)
      if (source === null) throw new Refusal(missing)
      if (source === 'expired') throw new Refusal(expired)
      reply.headers({
        ...(madeOnDemand ? {} : { 'accept-ranges': 'bytes' }),
        'cache-control': 'no-store, private',
        'content-disposition': `inline; filename="${fileName}"`,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-robots-tag': 'noindex',
        ...headers,
      })
      const { size } = source
      const range = madeOnDemand ? null : readRange(request.headers.range, size)
      const { from, to } = range ?? { from: 0, to: size - 1 }
      if (from >= size) return reply.code(416).header('content-range', `bytes */${size}`).send()
      const pieces = readPieces(source, from, to)
      // Before the answer begins: a file that cannot be read now is an answer of its own.
      const first = (await pieces.next()).value
      if (range !== null) reply.code(206).header('content-range', `bytes ${from}-${to}/${size}`)
      return reply
        .type(contentType)
        .header('content-length', to - from + 1)
        .send(Readable.from(continued(first, pieces)))
    })
  }
}

async function* readPieces(source: DocumentSource, from: number, to: number): AsyncGenerator<Uint8Array> {
  for (let at = from; at <= to; at += PIECE) yield await source.read(at, Math.min(PIECE, to - at + 1))
}

async function* continued(first: Uint8Array | undefined, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first !== undefined) yield first
  yield* rest
}

/** RFC 9110, 14.1.2: one range of bytes, its last byte included; anything else may be ignored. */
function readRange(header: string | undefined, size: number): { from: number; to: number } | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,12})-(\d{0,12})$/.exec(header ?? '') ?? []
  if (first === '') return Number(last) === 0 ? null : { from: Math.max(0, size - Number(last)), to: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return null
  return { from: Number(first), to: Math.min(last === '' ? size : Number(last), size - 1) }
}
