import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Refusal } from '../../domain/errors.js'
import { pathId } from './wire.js'

/** GET /regua-notificacao/finalizar/{idEmail}: ends a notification's sequence. Calling it again changes nothing. */
export interface FinalizeOptions {
  finalize(account: string, notification: string): Promise<boolean>
}

const DONE = 'Regua de notificação finalizada com sucesso'

export function addFinalize(app: FastifyInstance, { finalize }: FinalizeOptions): void {
  app.get<{ Params: { idEmail: string } }>(
    '/regua-notificacao/finalizar/:idEmail',
    {
      schema: {
        summary: 'Finaliza a régua de uma notificação',
        tags: ['Régua'],
        response: { 200: Type.Object({ message: Type.String({ examples: [DONE] }) }) },
      },
    },
    async request => {
      const found = await finalize(request.caller.account, pathId(request.params.idEmail, 'noStatus'))
      if (!found) throw new Refusal('noStatus')
      return { message: DONE }
    },
  )
}
