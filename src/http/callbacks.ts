import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Callback, CarrierEvent } from '../channels/provider.js'
import { Refusal } from '../domain/errors.js'
import type { ReadBody } from './body.js'

export interface CallbackOptions {
  /** The readers of real and of simulated carriers; each kind is signed with its own secret. */
  real: readonly Callback[]
  simulated: readonly Callback[]
  /** The base of the callback URLs. It is known when the server listens. */
  publicUrl(): string
  /** Resolves when all events are committed. */
  take(callback: Callback, simulated: boolean, events: CarrierEvent[]): Promise<void>
}

/** Some carriers gather reports into bodies of up to 3 MB. */
const BODY_LIMIT = 4 * 1_048_576

/** /callbacks/…: reports of carriers over HTTP. Each reader verifies that its request comes from the carrier. */
export function addCallbacks(
  app: FastifyInstance,
  { real, simulated, publicUrl, take }: CallbackOptions,
  readBody: ReadBody,
): void {
  app.register(async scope => {
    // Signatures cover the bytes, so no content type is parsed.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => readBody(request, payload))
    const serve = (path: string, callback: Callback, isSimulated: boolean): void => {
      scope.route({
        method: ['GET', 'POST'],
        url: path,
        exposeHeadRoute: false,
        bodyLimit: BODY_LIMIT,
        schema: { hide: true },
        handler: async (request, reply) => {
          const content = await callback.read({
            method: request.method,
            url: publicUrl() + request.url,
            headers: request.headers,
            body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
          })
          if (content === null) throw new Refusal('unauthorized')
          await take(callback, isSimulated, content.events)
          const { type, body } = content.answer ?? { type: 'text/plain; charset=utf-8', body: '' }
          return reply.type(type).send(body)
        },
      })
    }
    for (const callback of real) serve(`/callbacks/${callback.name}`, callback, false)
    for (const callback of simulated) serve(`/callbacks/simulator/${callback.name}`, callback, true)
  })
}
