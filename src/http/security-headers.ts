import type { FastifyInstance } from 'fastify'

const YEAR_SECONDS = 31_536_000
/** What no page of ours uses, and no content shown in one may ask for. */
const NO_DEVICES = 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()'

/** `secure`: people reach us by https, so that browsers should never try http again. */
export function addSecurityHeaders(app: FastifyInstance, secure: boolean): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (secure) reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}`)
    if (String(reply.getHeader('content-type')).startsWith('text/html')) {
      reply.header('permissions-policy', NO_DEVICES)
      reply.header('cross-origin-opener-policy', 'same-origin')
    }
    done()
  })
}
