import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type LinkTarget, readLinkCode } from '../../domain/link.js'
import { robotSignals } from '../../domain/robot.js'
import type { Fact } from '../../domain/transition.js'

/** GET /o/{code}.gif: the image in an e-mail. The one GET that can count as a reading. */
export interface ImageOptions {
  linkKey: Buffer
  now(): number
  /** When the delivery left; null while it has not, or does not exist. */
  findSentAt(target: LinkTarget): Promise<Date | null>
  record(notification: string, fact: Fact): Promise<unknown>
}

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

export function addImage(app: FastifyInstance, options: ImageOptions): void {
  app.get<{ Params: { code: string } }>('/o/:code', { schema: { hide: true } }, async (request, reply) => {
    const target = readLinkCode(options.linkKey, request.params.code.replace(/\.gif$/, ''))
    if (target !== null) {
      // The picture comes in any case: a reader sees no broken image because our database is away.
      await note(options, target, request).catch(err => request.log.warn({ err }, 'a reading was not recorded'))
    }
    return reply.type('image/gif').header('cache-control', 'no-store, private').send(GIF)
  })
}

async function note({ now, findSentAt, record }: ImageOptions, target: LinkTarget, request: FastifyRequest): Promise<void> {
  const sentAt = await findSentAt(target)
  const at = new Date(now())
  const userAgent = request.headers['user-agent']
  const purpose = [
    request.headers.purpose,
    request.headers['sec-purpose'],
    request.headers['x-purpose'],
    request.headers['x-moz'],
  ].join(' ')
  const signals = robotSignals({
    method: request.method,
    userAgent,
    purpose,
    sinceSentMs: sentAt === null ? null : at.getTime() - sentAt.getTime(),
  })
  const data = { by: 'image', userAgent: userAgent?.slice(0, 300) ?? null, address: request.ip, signals }
  await record(target.notification, {
    channel: target.channel,
    type: signals.length === 0 ? 'read' : 'note',
    at,
    source: 'recipient',
    data: signals.length === 0 ? data : { ...data, automated: true },
  })
}
