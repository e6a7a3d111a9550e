import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Refusal } from '../../domain/errors.js'
import type { Accept } from '../../engine/accept/accept.js'
import { sendRequestSchema } from './read-send.js'
import type { SendReader } from './send-reader.js'
import { uuid } from './wire.js'

export interface SendOptions {
  accept: Accept['accept']
  reader: SendReader
  maxBodyBytes: number
  simulator: boolean
  supportEmail: string
}

const headers = Type.Object({
  'idempotency-key': Type.Optional(Type.String({ description: 'Repetição segura por 24 horas.' })),
})

/** POST /gw/email: one notification, one or more channels. */
export function addSend(app: FastifyInstance, { accept, reader, maxBodyBytes, simulator, supportEmail }: SendOptions): void {
  app.post(
    '/gw/email',
    {
      bodyLimit: maxBodyBytes,
      config: { rawBody: true },
      schema: {
        summary: 'Envia uma notificação',
        description: 'A resposta 200 diz que o envio foi aceito e gravado; o que acontece em cada canal se consulta depois.',
        tags: ['Envio'],
        headers,
        body: sendRequestSchema,
        response: { 200: Type.Object({ idEmail: uuid }) },
      },
    },
    async (request, reply) => {
      const { caller, token, address } = request
      const key = readIdempotencyKey(request.headers['idempotency-key'])
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
      const { request: send, bodySha256 } = await reader.read(body, key !== null, caller)
      if (send.validation !== null && !caller.settings.validation) throw new Refusal('validationNotEnabled', [supportEmail])
      if (caller.mode === 'test' && !simulator) throw new Refusal('simulatorOff')
      const sender = {
        account: caller.account,
        mode: caller.mode,
        token: token.jti,
        address,
        rules: { sequence: caller.sequence, settings: caller.settings },
      }
      const idempotency = key === null ? null : { key, bodySha256: bodySha256! }
      const accepted = await accept(send, sender, idempotency)
      if (accepted.replayed) reply.header('idempotency-replayed', 'true')
      return { idEmail: accepted.id }
    },
  )
}

function readIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header)) throw new Refusal('badIdempotencyKey')
  return header
}
