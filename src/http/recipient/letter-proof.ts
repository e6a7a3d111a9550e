import type { FastifyInstance } from 'fastify'
import { Refusal } from '../../domain/errors.js'
import { makeLinkCode, readLinkCode } from '../../domain/link.js'

/** GET /comprovante/carta/{code}.pdf: the receipt of a letter, for whoever was given its address. */
export interface LetterProofOptions {
  key: Buffer
  /** null: there is no such letter. */
  compose(notification: string): Promise<Uint8Array | null>
}

export const letterProofPath = (key: Buffer, notification: string): string =>
  `/comprovante/carta/${makeLinkCode(key, { notification, channel: 'letter' })}.pdf`

export function addLetterProof(app: FastifyInstance, { key, compose }: LetterProofOptions): void {
  app.get<{ Params: { code: string } }>('/comprovante/carta/:code', { schema: { hide: true } }, async (request, reply) => {
    const target = readLinkCode(key, request.params.code.replace(/\.pdf$/, ''))
    const pdf = target === null ? null : await compose(target.notification)
    if (pdf === null) throw new Refusal('reportMissing')
    reply.headers({
      'cache-control': 'no-store, private',
      'content-disposition': 'inline; filename="comprovante-carta.pdf"',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    })
    return reply.type('application/pdf').send(Buffer.from(pdf))
  })
}
