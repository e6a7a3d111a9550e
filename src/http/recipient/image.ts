import type { FastifyInstance } from 'fastify'
import { readLinkTarget } from '../../channels/link-target.js'
import type { LinkTarget } from '../../domain/link.js'
import { addressOf, readVisit } from './arrival.js'
import type { PageOptions } from './pages.js'

/** GET /o/{code}.gif: the image in an e-mail. The one GET that can count as a reading. */
type ImageOptions = Pick<PageOptions, 'recipient' | 'trustedProxies'>

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

export function addImage(app: FastifyInstance, { recipient, trustedProxies }: ImageOptions): void {
  app.get<{ Params: { code: string } }>('/o/:code', { schema: { hide: true } }, async (request, reply) => {
    const target = readLinkTarget(recipient.linkKey, request.params.code.replace(/\.gif$/, ''))
    const count = async (found: LinkTarget): Promise<void> => {
      const departure = await recipient.findDeparture(found)
      if (departure === null) return
      const visit = readVisit(
        request,
        { target: found, ...departure },
        {
          nowMs: recipient.now(),
          address: addressOf(request, trustedProxies),
          limits: recipient.robotLimits,
          sessionKey: recipient.sessionKey,
        },
      )
      await recipient.visits.count(visit, 'image', 'read')
    }
    // The picture comes in any case: a reader sees no broken image because our database is away.
    if (target !== null) await count(target).catch(err => request.log.warn({ err }, 'a reading was not recorded'))
    return reply.type('image/gif').header('cache-control', 'no-store, private').send(GIF)
  })
}
