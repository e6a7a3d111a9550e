import type { FastifyReply } from 'fastify'

/** Resets the connection without an answer. The sender cannot know whether the carrier accepted the message. */
export function breakConnection(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.socket?.resetAndDestroy()
  return reply
}

/** Keeps the connection open without an answer, until the sender goes away or the time is up. */
export function leaveUnanswered(reply: FastifyReply, closeAfterMs: number): FastifyReply {
  reply.hijack()
  const timer = setTimeout(() => reply.raw.socket?.destroy(), closeAfterMs)
  reply.raw.once('close', () => clearTimeout(timer))
  return reply
}
