import type { FastifyReply } from 'fastify'

/** An answer that browsers save: they never show it in our origin, since some of it was written by senders, and never store a copy. */
export const asDownload = (reply: FastifyReply, type: string, name: string): FastifyReply =>
  reply.type(type).headers({
    'cache-control': 'no-store, private',
    'content-disposition': `attachment; filename="${name}"`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
  })
