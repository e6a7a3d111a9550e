import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import type { EndpointDraft } from '../../webhooks/endpoints.js'
import type { ListenerMessage, ListenRequest } from '../../webhooks/listening.js'
import { interests, readChannels, readStatuses } from './webhook-wire.js'
import { pathId } from './wire.js'

/** /gw/webhooks/listen: events for a machine that nobody can call: it asks, and says what it has got. */
export interface ListeningOptions {
  createListener(account: string, draft: Omit<EndpointDraft, 'url'>): Promise<{ id: string; secret: string }>
  listen(account: string, listener: string, question: ListenRequest): Promise<ListenerMessage[]>
}

const MAX_WAIT_SECONDS = 25
const MAX_ACKNOWLEDGED = 1_000

const createBody = Type.Object(interests)
const listenBody = Type.Object({
  confirmados: Type.Optional(
    Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: Type.String(),
      maxItems: MAX_ACKNOWLEDGED,
      description: 'Mensagens recebidas; não voltam mais.',
    }),
  ),
  espera: Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      description: 'Segundos a esperar por uma mensagem, se não houver nenhuma.',
    }),
  ),
})
const listenerSchema = Type.Object({
  data: Type.Object({ id: Type.String({ format: 'uuid' }), segredo: Type.String() }),
  statusCode: Type.Integer(),
})
const heardSchema = Type.Object({
  data: Type.Array(Type.Object({ id: Type.String({ format: 'uuid' }), corpo: Type.String() })),
  statusCode: Type.Integer(),
})
const tags = ['Webhooks']

export function addWebhookListening(app: FastifyInstance, { createListener, listen }: ListeningOptions): void {
  app.post<{ Body: Static<typeof createBody> }>(
    '/gw/webhooks/listen',
    { schema: { summary: 'Abre uma escuta', tags, body: createBody, response: { 201: listenerSchema } } },
    async (request, reply) => {
      const { versao, canais, situacoes } = request.body
      const { id, secret } = await createListener(request.caller.account, {
        version: versao ?? 'v2',
        channels: readChannels(canais ?? []),
        statuses: readStatuses(situacoes ?? []),
      })
      return reply.code(201).send({ data: { id, segredo: secret }, statusCode: 201 })
    },
  )
  app.post<{ Params: { id: string }; Body: Static<typeof listenBody> }>(
    '/gw/webhooks/listen/:id',
    {
      schema: {
        summary: 'Confirma o que recebeu e espera o que vem',
        tags,
        body: listenBody,
        response: { 200: heardSchema },
      },
    },
    async request => {
      const { confirmados, espera } = request.body
      const acknowledged = (confirmados ?? []).map(text => readId(text) ?? refuse('notId', 'confirmados'))
      const heard = await listen(request.caller.account, pathId(request.params.id, 'webhookMissing'), {
        acknowledged,
        waitMs: (espera ?? 0) * 1_000,
        isAborted: () => request.answer.closed,
      })
      return { data: heard.map(({ id, body }) => ({ id, corpo: body })), statusCode: 200 }
    },
  )
}
