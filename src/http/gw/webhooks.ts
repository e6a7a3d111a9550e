import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Clock } from '../../domain/clock.js'
import { refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import { optionalText, optionalVisible, requiredText } from '../../domain/schema.js'
import type { Scope } from '../../domain/scope.js'
import { readIso } from '../../domain/text/dates.js'
import type { Pool } from '../../store/postgres.js'
import type { AttemptQuery } from '../../store/webhook/attempts.js'
import { type EndpointChanges, listEndpoints, type WebhookEndpoint } from '../../store/webhook/endpoints.js'
import type { ReplaySpan } from '../../store/webhook/messages.js'
import {
  act,
  createEndpoint,
  type EndpointParts,
  editEndpoint,
  removeEndpoint,
  replayOne,
  requireEndpoint,
  rotateEndpoint,
  showAttempts,
  testEndpoint,
  type WithSecret,
} from '../../webhooks/endpoints.js'
import type { WebhookFormat } from '../../webhooks/payload.js'
import { replaySpan, type TakeReplayTurn } from '../../webhooks/replay.js'
import * as wire from './webhook-wire.js'
import { type ById, dataAnswer, dataRoute, optionalBoolean, pathId, uuid } from './wire.js'

export interface WebhookOptions extends EndpointParts {
  pool: Pool
  clock: Clock
  format: WebhookFormat
  takeReplayTurn: TakeReplayTurn
  isStopping(): boolean
}

const createBody = Type.Object({
  url: requiredText({ description: 'Para onde vão os avisos, por https.', examples: ['https://sistema.example.com/avisos'] }),
  ...wire.interests,
})
const editBody = Type.Object({
  url: optionalVisible('O novo endereço. Ausente: fica como está.'),
  ...wire.interests,
  ativo: optionalBoolean('true ativa, false desativa. Ausente: fica como está.'),
})
const replayBody = Type.Object({
  mensagem: optionalText({ description: 'Uma mensagem só.' }),
  desde: optionalText({ description: 'Todas as criadas desde este momento (ISO 8601).' }),
  ate: optionalText({ description: 'E antes deste; se ausente, até agora.' }),
  somenteFalhas: optionalBoolean('true: só as que não foram entregues.'),
})
const attemptsQuery = Type.Object({
  antesDe: Type.Optional(Type.String({ description: 'Só tentativas anteriores a esta (id): a página seguinte.' })),
  mensagem: Type.Optional(Type.String({ description: 'Só desta mensagem.' })),
  somenteFalhas: Type.Optional(Type.String({ enum: ['true', 'false'], description: 'true: só as que falharam.' })),
})

const ATTEMPTS_PER_PAGE = 50
const config = { emptyBody: true }
const route = dataRoute.bind(null, 'Webhooks')

/** The scope and the endpoint of a request. */
const targetOf = ({ caller, params }: { caller: Scope; params: ById['Params'] }) =>
  [caller, pathId(params.id, 'webhookMissing')] as const

/** /gw/webhooks: the endpoints that get an account's events, the delivery attempts, and replays. */
export function addWebhooks(app: FastifyInstance, options: WebhookOptions): void {
  addEndpoints(app, options)
  addRepairs(app, options)
}

function addEndpoints(app: FastifyInstance, options: WebhookOptions): void {
  app.get('/gw/webhooks', route('Lista os webhooks', Type.Array(wire.endpointSchema)), async request =>
    dataAnswer((await listEndpoints(options.pool, request.caller)).map(wire.endpointToWire)),
  )
  app.post<{ Body: Static<typeof createBody> }>(
    '/gw/webhooks',
    route('Cria um webhook', wire.endpointWithSecretSchema, { body: createBody, status: 201 }),
    async ({ caller, body }, reply) => {
      const draft = { url: body.url, ...wire.readInterests(body) }
      const made = await act(options, parts => createEndpoint(parts, caller, draft, options.clock()))
      return reply.code(201).send(withSecret(made, 201))
    },
  )
  app.get<ById>('/gw/webhooks/:id', route('Mostra um webhook', wire.endpointSchema), async request =>
    answer(await requireEndpoint(options.pool, ...targetOf(request))),
  )
  app.put<ById & { Body: Static<typeof editBody> }>(
    '/gw/webhooks/:id',
    route('Edita, ativa ou desativa um webhook', wire.endpointSchema, { body: editBody }),
    async request => {
      const changes = readChanges(request.body)
      return answer(await act(options, parts => editEndpoint(parts, ...targetOf(request), changes)))
    },
  )
  app.delete<ById>(
    '/gw/webhooks/:id',
    route('Apaga um webhook', Type.Object({ id: uuid('O webhook apagado.') })),
    async request => {
      const [scope, id] = targetOf(request)
      await act(options, parts => removeEndpoint(parts, scope, id))
      return dataAnswer({ id })
    },
  )
}

function addRepairs(app: FastifyInstance, options: WebhookOptions): void {
  app.post<ById>(
    '/gw/webhooks/:id/rotate',
    { config, ...route('Troca o segredo; os dois assinam por 24 h', wire.endpointWithSecretSchema) },
    async request => withSecret(await act(options, parts => rotateEndpoint(parts, ...targetOf(request)))),
  )
  app.post<ById>(
    '/gw/webhooks/:id/test',
    {
      config,
      ...route('Envia um evento de teste', Type.Object({ mensagem: uuid('O webhook-id do evento de teste.') }), { status: 201 }),
    },
    async (request, reply) => {
      const mensagem = await act(options, parts => testEndpoint(parts, ...targetOf(request), options.clock()))
      return reply.code(201).send(dataAnswer({ mensagem }, 201))
    },
  )
  app.get<ById & { Querystring: Static<typeof attemptsQuery> }>(
    '/gw/webhooks/:id/attempts',
    route('Tentativas de entrega, da mais nova à mais antiga', Type.Array(wire.attemptSchema), { querystring: attemptsQuery }),
    async request => {
      const query = readQuery(request.query)
      const found = await showAttempts(options.pool, options.format, ...targetOf(request), query)
      return dataAnswer(found.map(wire.attemptToWire))
    },
  )
  app.post<ById & { Body: Static<typeof replayBody> }>(
    '/gw/webhooks/:id/replay',
    route(
      'Reenvia uma mensagem, ou todas desde um momento',
      Type.Object({ mensagens: Type.Integer({ description: 'Quantas serão enviadas outra vez.' }) }),
      { body: replayBody },
    ),
    async request => {
      const wanted = readReplay(request.body, options.clock())
      const [scope, id] = targetOf(request)
      if (typeof wanted === 'string') {
        await act(options, parts => replayOne(parts, scope, id, wanted))
        return dataAnswer({ mensagens: 1 })
      }
      const replay = () => replaySpan(options.pool, scope, id, wanted, () => request.answer.closed)
      return dataAnswer({ mensagens: await options.takeReplayTurn(scope, replay) })
    },
  )
}

const answer = (endpoint: WebhookEndpoint) => dataAnswer(wire.endpointToWire(endpoint))

const withSecret = ({ endpoint, secret }: WithSecret, statusCode = 200) =>
  dataAnswer({ ...wire.endpointToWire(endpoint), segredo: secret }, statusCode)

/** A member that is absent or null stays as it is. */
function readChanges(body: Static<typeof editBody>): EndpointChanges {
  const changes: EndpointChanges = {}
  if (body.url != null) changes.url = body.url
  if (body.versao != null) changes.version = body.versao
  if (body.canais != null) changes.channels = wire.readChannels(body.canais)
  if (body.situacoes != null) changes.statuses = wire.readStatuses(body.situacoes)
  if (body.ativo != null) changes.active = body.ativo
  if (Object.keys(changes).length === 0) refuse('webhookNothingToChange')
  return changes
}

function readQuery({ antesDe, mensagem, somenteFalhas }: Static<typeof attemptsQuery>): AttemptQuery {
  if (antesDe !== undefined && !/^\d{1,15}$/.test(antesDe)) refuse('notAttempt', 'antesDe')
  const message = mensagem === undefined ? null : (readId(mensagem) ?? refuse('notIdParameter', 'mensagem'))
  return {
    before: antesDe === undefined ? null : Number(antesDe),
    message,
    failedOnly: somenteFalhas === 'true',
    limit: ATTEMPTS_PER_PAGE,
  }
}

/** One message by its id, or a span. */
function readReplay(body: Static<typeof replayBody>, nowMs: number): string | ReplaySpan {
  if ((body.mensagem == null) === (body.desde == null)) return refuse('replayWhat')
  if (body.mensagem != null) return readId(body.mensagem) ?? refuse('webhookMessageMissing')
  const until = body.ate == null ? new Date(nowMs) : readMoment(body.ate, 'ate')
  return { since: readMoment(body.desde!, 'desde'), until, missedOnly: body.somenteFalhas ?? false }
}

const readMoment = (text: string, field: string): Date => readIso(text) ?? refuse('badMoment', field)
