import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { overloaded, Refusal } from '../domain/errors.js'
import { parseUntrustedJson } from '../domain/json.js'
import { mebibytes } from '../domain/text.js'
import { Semaphore } from '../runtime/semaphore.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Hands the unparsed bytes to the handler. */
    rawBody?: boolean
    /** The route needs no body, and accepts an empty one. */
    emptyBody?: boolean
  }
  interface FastifyRequest {
    answer: ServerResponse
  }
}

export const LARGE_BODY = 262_144

export interface BodyLimits {
  /** Bytes of bodies held at once. */
  budgetBytes: number
  maxWaitMs: number
}

/**
 * Request bodies: JSON only, bounded each, and bounded together. A body waits for its share of the memory before it is
 * read (the sender's socket is simply not drained meanwhile); a request that waits too long is refused with Retry-After.
 */
export function addBodyParser(app: FastifyInstance, { budgetBytes, maxWaitMs }: BodyLimits): void {
  const budget = new Semaphore({
    permits: budgetBytes,
    // A large body leaves a quarter of the budget, so that large attachments never block small sends.
    reserve: bytes => (bytes > LARGE_BODY ? budgetBytes / 4 : 0),
    overtaking: true,
    maxWaitMs,
    refusal: overloaded,
  })
  app.addHook('onRequest', (request, reply, done) => {
    request.answer = reply.raw
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const raw = await collect(request, payload, budget)
    const { rawBody, emptyBody = request.method === 'DELETE' } = request.routeOptions.config
    if (rawBody === true) return raw
    return raw.length === 0 && emptyBody ? undefined : parseUntrustedJson(raw)
  })
}

async function collect(request: FastifyRequest, payload: Readable, budget: Semaphore): Promise<Buffer> {
  const limit = request.routeOptions.bodyLimit
  const tooLarge = (): Refusal => new Refusal('bodyTooLarge', [mebibytes(limit)])
  const declared = request.headers['content-length'] === undefined ? limit : Number(request.headers['content-length'])
  if (declared > limit) throw tooLarge()
  const waiting = budget.acquire(declared)
  if (waiting !== null) await waiting
  // The permit is held until the answer is sent or the sender is gone, because the request holds the body until then.
  const { answer } = request
  if (answer.closed) budget.release(declared)
  else answer.once('close', () => budget.release(declared))
  if (payload.destroyed) throw new Error('the sender went away')
  // Events instead of `for await`, because its iterator takes 5 % of the whole time of a small send.
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      // The rest of the body is read and dropped while the refusal is sent.
      chunks.length = 0
      payload.off('data', take).resume()
      reject(tooLarge())
    }
    payload.on('data', take)
    payload.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)))
    payload.once('error', reject)
  })
}
