import type { FastifyInstance } from 'fastify'
import { readLinkTarget } from '../../channels/registry.js'
import type { LinkTarget } from '../../domain/link.js'
import { addressOf, readVisit } from './arrival.js'
import type { PageOptions } from './pages.js'

/** GET /o/{code}.gif: the tracking image in an e-mail. It is the only GET that can count as a reading. */
type ImageOptions = Pick<PageOptions, 'recipient' | 'trustedProxies'>

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

export function addImage(app: FastifyInstance, { recipient, trustedProxies }: ImageOptions): void {
  app.get<{ Params: { code: string } }>('/o/:code', { schema: { hide: true } }, async (request, reply) => {
    const target = readLinkTarget(recipient.linkKey, request.params.code.replace(/\.gif$/, ''))
    const count = async (found: LinkTarget): Promise<void> => {
      const sendState = await recipient.findSendState(found)
      if (sendState === null) return
      const visit = readVisit(
        request,
        { target: found, ...sendState },
        {
          nowMs: recipient.now(),
          address: addressOf(request, trustedProxies),
          limits: recipient.robotLimits,
          sessionKey: recipient.sessionKey,
        },
      )
      await recipient.visits.count(visit, 'image', 'read')
    }
    // The image is always sent, so that the reader sees no broken image while the database is unavailable.
    if (target !== null) await count(target).catch(err => request.log.warn({ err }, 'a reading was not recorded'))
    return reply.type('image/gif').header('cache-control', 'no-store, private').send(GIF)
  })
}
