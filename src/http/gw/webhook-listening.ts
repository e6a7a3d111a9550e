import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import { createListener } from '../../webhooks/endpoints.js'
import { createListening } from '../../webhooks/listening.js'
import { interests, readInterests } from './webhook-wire.js'
import type { WebhookOptions } from './webhooks.js'
import { type ById, dataAnswer, dataRoute, listOrNull, pathId, uuid } from './wire.js'

const MAX_WAIT_SECONDS = 25
const MAX_ACKNOWLEDGED = 1_000

const createBody = Type.Object(interests)
const listenBody = Type.Object({
  confirmados: listOrNull<string>(Type.String(), {
    maxItems: MAX_ACKNOWLEDGED,
    description: 'Mensagens recebidas; não voltam mais.',
  }),
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
  id: uuid('O identificador da escuta.'),
  segredo: Type.String({ description: 'Assina os avisos. Mostrado só nesta resposta.' }),
})
const messagesSchema = Type.Array(
  Type.Object({
    id: uuid('O webhook-id, para confirmar em confirmados.'),
    corpo: Type.String({ description: 'O aviso, como um webhook o receberia.' }),
  }),
)

/** /gw/webhooks/listen: events for a machine that cannot be called. It polls, and acknowledges what it received. */
export function addWebhookListening(app: FastifyInstance, options: WebhookOptions): void {
  const listen = createListening(options.pool, options.format, (error, message) => app.log.error(error, message))
  app.post<{ Body: Static<typeof createBody> }>(
    '/gw/webhooks/listen',
    dataRoute('Webhooks', 'Abre uma escuta', listenerSchema, { body: createBody, status: 201 }),
    async ({ caller, body }, reply) => {
      const { id, secret } = await createListener(options, caller, readInterests(body), options.clock())
      return reply.code(201).send(dataAnswer({ id, segredo: secret }, 201))
    },
  )
  app.post<ById & { Body: Static<typeof listenBody> }>(
    '/gw/webhooks/listen/:id',
    dataRoute('Webhooks', 'Confirma o que recebeu e espera o que vem', messagesSchema, { body: listenBody }),
    async ({ caller, params, body, answer }) => {
      const acknowledged = (body.confirmados ?? []).map(text => readId(text) ?? refuse('notId', 'confirmados'))
      const messages = await listen(caller, pathId(params.id, 'webhookMissing'), {
        acknowledged,
        waitMs: (body.espera ?? 0) * 1_000,
        isAborted: () => answer.closed || options.isStopping(),
      })
      return dataAnswer(messages.map(({ id, body }) => ({ id, corpo: body })))
    },
  )
}
