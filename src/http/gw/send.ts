import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { firstSend } from '../../channels/first-send.js'
import { Refusal, refuse } from '../../domain/errors.js'
import type { Accept } from '../../engine/accept/accept.js'
import type { Caller } from '../../engine/access/directory.js'
import { explainUnauthorized } from '../token-faults.js'
import { warnOfUnknown } from '../unknown-members.js'
import { sendRequestSchema } from './read-send.js'
import type { SendReader } from './send-reader.js'
import { uuid } from './wire.js'

export interface SendOptions {
  accept: Accept['accept']
  /** The holder of a token as the database has it now; null: the token counts no longer. */
  findCurrentCaller(jti: string): Promise<Caller | null>
  reader: SendReader
  maxBodyBytes: number
}

/** The date in the example. It is fixed, so that the OpenAPI document, and what is generated from it, does not change every day. */
const EXAMPLE_AT = Date.UTC(2030, 0, 1)
/** Works at once against a first start, with the demo account's token. */
const body = { ...sendRequestSchema, examples: [await firstSend(EXAMPLE_AT)] }

const headers = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'Uma chave sua, nova a cada envio: repetido com a mesma em 24 horas, o envio não se repete e a resposta é a primeira.',
    }),
  ),
})

/** POST /gw/email: one notification, one or more channels. */
export function addSend(app: FastifyInstance, options: SendOptions): void {
  const { accept, findCurrentCaller, reader, maxBodyBytes } = options
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
        body,
        response: { 200: Type.Object({ idEmail: uuid('O identificador da notificação, para todas as consultas.') }) },
      },
    },
    async (request, reply) => {
      const { caller, token, address } = request
      const key = readIdempotencyKey(request.headers['idempotency-key'])
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
      const { request: send, bodySha256, unknown } = await reader.read(body, key !== null, caller)
      warnOfUnknown(reply, unknown)
      const senderOf = ({ account, mode, sequence, settings, revision }: Caller) => ({
        account,
        mode,
        token: token.jti,
        address,
        rules: { sequence, settings, revision },
      })
      const readSender = async () => {
        const current = await findCurrentCaller(token.jti)
        if (current === null) explainUnauthorized(request, reply, { fault: 'revoked' })
        return senderOf(current ?? refuse('unauthorized'))
      }
      const idempotency = key === null ? null : { key, bodySha256: bodySha256! }
      const origin = { startedMs: Date.now() - reply.elapsedTime, traceparent: String(request.headers.traceparent ?? '') }
      const accepted = await accept({ request: send, sender: senderOf(caller), idempotency, readSender, origin })
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
