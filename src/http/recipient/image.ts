import type { FastifyInstance } from 'fastify'
import { readLinkTarget } from '../../channels/registry.js'
import type { LinkTarget } from '../../domain/recipient/link.js'
import { addressOf } from '../auth.js'
import { readVisit } from './arrival.js'
import type { PageOptions } from './pages.js'

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** GET /o/{code}.gif: the tracking image in an e-mail. It is the only GET that can count as a reading. */
export function addImage(app: FastifyInstance, { recipient, trustedProxies }: PageOptions): void {
  app.get<{ Params: { code: string } }>('/o/:code', { schema: { hide: true } }, async (request, reply) => {
    const count = async (target: LinkTarget): Promise<void> => {
      const sendState = await recipient.findSendState(target)
      if (sendState === null) return
      const visit = readVisit(request, addressOf(request, trustedProxies), { target, ...sendState }, recipient)
      await recipient.visits.count(visit, 'image', 'read')
    }
    const target = readLinkTarget(recipient.linkKey, request.params.code.replace(/\.gif$/, ''))
    // The image is always sent, so that the reader sees no broken image while the database is unavailable.
    if (target !== null) await count(target).catch(err => request.log.warn({ err }, 'a reading was not recorded'))
    return reply.type('image/gif').header('cache-control', 'no-store, private').send(GIF)
  })
}
