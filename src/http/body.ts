import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { overloaded, Refusal } from '../domain/errors.js'
import { parseUntrustedJson } from '../domain/json.js'
import { mebibytes } from '../domain/text.js'
import { Semaphore } from '../runtime/semaphore.js'

/**
 * Request bodies: JSON only, bounded each, and bounded together. A body waits for its share of the memory before it is
 * read (the sender's socket is simply not drained meanwhile); a request that waits too long is refused with Retry-After.
 */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** Hands the unparsed bytes to the handler. */
    rawBody?: boolean
    /** The route asks for no body; one may come without content all the same. */
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

/** A small body may use all of the budget, a large one leaves a quarter: large attachments never shut out small sends. */
const budgetOf = ({ budgetBytes, maxWaitMs }: BodyLimits): Semaphore =>
  new Semaphore({
    permits: budgetBytes,
    reserve: bytes => (bytes > LARGE_BODY ? budgetBytes / 4 : 0),
    overtaking: true,
    maxWaitMs,
    refusal: overloaded,
  })

export function addBodyParser(app: FastifyInstance, limits: BodyLimits): void {
  const budget = budgetOf(limits)
  app.addHook('onRequest', (request, reply, done) => {
    request.answer = reply.raw
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const raw = await collect(request, payload, budget)
    if (request.routeOptions.config.rawBody === true) return raw
    // A request that needs no body and carries the header all the same is fine.
    if (raw.length === 0 && (request.method === 'DELETE' || request.routeOptions.config.emptyBody === true)) return undefined
    return parseUntrustedJson(raw)
  })
}

async function collect(request: FastifyRequest, payload: Readable, budget: Semaphore): Promise<Buffer> {
  const limit = request.routeOptions.bodyLimit
  const tooLarge = (): Refusal => new Refusal('bodyTooLarge', [mebibytes(limit)])
  const declared = request.headers['content-length'] === undefined ? limit : Number(request.headers['content-length'])
  if (declared > limit) throw tooLarge()
  const waiting = budget.acquire(declared)
  if (waiting !== null) await waiting
  // Held until the answer is out, or the sender gone: what was read lives on in the request until then.
  const { answer } = request
  if (answer.closed) budget.release(declared)
  else answer.once('close', () => budget.release(declared))
  if (payload.destroyed) throw new Error('the sender went away')
  // Events, not `for await`: its iterator would take 5 % of the whole time of a small send.
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      // The rest of it is taken in, and dropped, while the refusal goes out.
      chunks.length = 0
      payload.off('data', take).resume()
      reject(tooLarge())
    }
    payload.on('data', take)
    payload.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)))
    payload.once('error', reject)
  })
}
