import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Callback, CarrierEvent } from '../channels/provider.js'
import type { CarrierSource } from '../domain/delivery/carrier-source.js'
import { Refusal } from '../domain/errors.js'
import { MIB } from '../domain/units.js'
import type { ReadBody } from './body.js'

/** The reader of the callbacks of real or of simulated carriers; each kind is signed with its own secret. */
export interface ServedCallback extends Pick<CarrierSource, 'modes'> {
  path: string
  /** The reader verifies a signature over the content, not only where it comes from. */
  signed: boolean
  callback: Callback
}

export interface CallbackOptions {
  served: readonly ServedCallback[]
  /** The base of the callback URLs. It is known when the server listens. */
  publicUrl(): string
  /** Resolves when all events are committed; false: some were about messages of others, and did not count. */
  take(source: CarrierSource, events: CarrierEvent[]): Promise<boolean>
}

/** Some carriers gather reports into bodies of up to 3 MB. */
const BODY_LIMIT = 4 * MIB

/** /callbacks/…: reports of carriers over HTTP. Each reader verifies that its request comes from the carrier. */
export function addCallbacks(app: FastifyInstance, { served, publicUrl, take }: CallbackOptions, readBody: ReadBody): void {
  app.register(async scope => {
    // Signatures cover the bytes, so no content type is parsed.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => readBody(request, payload))
    for (const { path, modes, signed, callback } of served) {
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
          const { carriers } = content
          const events = signed ? content.events.map(markSigned) : content.events
          const isTaken = await take({ channel: callback.channel, carriers, modes }, events)
          // The carrier repeats what is refused: a wrong setting can be corrected before its reports are lost.
          if (!isTaken) throw new Refusal('foreignReport')
          const { type, body } = content.answer ?? { type: 'text/plain; charset=utf-8', body: '' }
          return reply.type(type).send(body)
        },
      })
    }
  })
}

const markSigned = (event: CarrierEvent): CarrierEvent => (event.kind === 'report' ? { ...event, signed: true } : event)
