import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Refusal } from '../../domain/errors.js'
import type { NotificationStatuses } from '../../store/delivery/deliveries.js'
import { pathId } from './wire.js'

/** The proof of a send and its report. Until something was sent there is nothing to prove, and these routes say so. */
export interface ProofOptions {
  findNotification(account: string, id: string): Promise<NotificationStatuses | null>
}

const NOTHING_YET = 'Ainda não há o que comprovar: nenhum canal desta notificação foi enviado.'

export function addProofs(app: FastifyInstance, { findNotification }: ProofOptions): void {
  app.get<{ Params: { idEmail: string } }>(
    '/gw/sending-proof/:idEmail',
    {
      schema: {
        summary: 'Comprovante de envio',
        tags: ['Comprovantes'],
        response: {
          200: Type.Object({
            content: Type.Optional(Type.String({ description: 'PDF em base64.' })),
            message: Type.Optional(Type.String()),
          }),
        },
      },
    },
    async request => {
      const found = await findNotification(request.caller.account, pathId(request.params.idEmail, 'noStatus'))
      if (found === null) throw new Refusal('noStatus')
      return { message: NOTHING_YET }
    },
  )
  app.get<{ Params: { idEmail: string } }>(
    '/gw/email/laudo/:idEmail',
    {
      schema: {
        summary: 'Laudo do e-mail, em PDF',
        tags: ['Comprovantes'],
        response: {
          200: { description: 'O laudo.', content: { 'application/pdf': { schema: Type.String({ format: 'binary' }) } } },
        },
      },
    },
    async () => {
      throw new Refusal('reportMissing')
    },
  )
}
