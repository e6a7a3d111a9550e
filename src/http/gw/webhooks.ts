import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { readIso } from '../../domain/dates.js'
import { refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import { optionalText, requiredText } from '../../domain/schema.js'
import type { AttemptQuery } from '../../store/webhook/attempts.js'
import type { EndpointChanges, WebhookEndpoint } from '../../store/webhook/endpoints.js'
import type { ReplaySpan } from '../../store/webhook/messages.js'
import type { AttemptDetails } from '../../webhooks/attempt-log.js'
import type { EndpointDraft, WithSecret } from '../../webhooks/endpoints.js'
import type { ListeningOptions } from './webhook-listening.js'
import {
  attemptSchema,
  attemptToWire,
  endpointSchema,
  endpointToWire,
  endpointWithSecretSchema,
  interests,
  readChannels,
  readStatuses,
} from './webhook-wire.js'
import { pathId } from './wire.js'

/** /gw/webhooks: where an account's events go, what became of them, and how to have them again. */
export interface WebhookOptions extends ListeningOptions {
  list(account: string): Promise<WebhookEndpoint[]>
  find(account: string, id: string): Promise<WebhookEndpoint>
  create(account: string, draft: EndpointDraft): Promise<WithSecret>
  edit(account: string, id: string, changes: EndpointChanges): Promise<WebhookEndpoint>
  remove(account: string, id: string): Promise<void>
  rotate(account: string, id: string): Promise<WithSecret>
  /** The message of the test event. */
  test(account: string, id: string): Promise<string>
  attempts(account: string, id: string, question: AttemptQuery): Promise<AttemptDetails[]>
  replayOne(account: string, id: string, message: string): Promise<void>
  replaySpan(account: string, id: string, span: ReplaySpan): Promise<number>
  now(): number
}

const dataOf = <T extends Parameters<typeof Type.Array>[0]>(data: T) => Type.Object({ data, statusCode: Type.Integer() })
const optionalBoolean = Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }))
const createBody = Type.Object({ url: requiredText({ examples: ['https://sistema.example.com/avisos'] }), ...interests })
const editBody = Type.Object({ url: optionalText({ pattern: '\\S' }), ...interests, ativo: optionalBoolean })
const replayBody = Type.Object({
  mensagem: optionalText({ description: 'Uma mensagem só.' }),
  desde: optionalText({ description: 'Todas as criadas desde este momento (ISO 8601).' }),
  ate: optionalText({ description: 'E antes deste; se ausente, até agora.' }),
  somenteFalhas: optionalBoolean,
})
const attemptsQuery = Type.Object({
  antesDe: Type.Optional(Type.String({ description: 'Só tentativas anteriores a esta (id): a página seguinte.' })),
  mensagem: Type.Optional(Type.String({ description: 'Só desta mensagem.' })),
  somenteFalhas: Type.Optional(Type.String({ description: 'true: só as que falharam.' })),
})

type ById = { Params: { id: string } }
const tags = ['Webhooks']
const ATTEMPTS_PER_PAGE = 50
const webhookId = (text: string): string => pathId(text, 'webhookMissing')

export function addWebhooks(app: FastifyInstance, options: WebhookOptions): void {
  addEndpoints(app, options)
  addRepairs(app, options)
}

function addEndpoints(app: FastifyInstance, { list, find, create, edit, remove }: WebhookOptions): void {
  app.get(
    '/gw/webhooks',
    { schema: { summary: 'Lista os webhooks', tags, response: { 200: dataOf(Type.Array(endpointSchema)) } } },
    async request => ({ data: (await list(request.caller.account)).map(endpointToWire), statusCode: 200 }),
  )
  app.post<{ Body: Static<typeof createBody> }>(
    '/gw/webhooks',
    { schema: { summary: 'Cria um webhook', tags, body: createBody, response: { 201: dataOf(endpointWithSecretSchema) } } },
    async (request, reply) => {
      const { url, versao, canais, situacoes } = request.body
      const draft: EndpointDraft = {
        url,
        version: versao ?? 'v2',
        channels: readChannels(canais ?? []),
        statuses: readStatuses(situacoes ?? []),
      }
      return reply.code(201).send(withSecret(await create(request.caller.account, draft), 201))
    },
  )
  app.get<ById>(
    '/gw/webhooks/:id',
    { schema: { summary: 'Mostra um webhook', tags, response: { 200: dataOf(endpointSchema) } } },
    async request => answer(await find(request.caller.account, webhookId(request.params.id))),
  )
  app.put<ById & { Body: Static<typeof editBody> }>(
    '/gw/webhooks/:id',
    {
      schema: { summary: 'Edita, ativa ou desativa um webhook', tags, body: editBody, response: { 200: dataOf(endpointSchema) } },
    },
    async request => {
      const changes = readChanges(request.body)
      return answer(await edit(request.caller.account, webhookId(request.params.id), changes))
    },
  )
  app.delete<ById>(
    '/gw/webhooks/:id',
    {
      schema: {
        summary: 'Apaga um webhook',
        tags,
        response: { 200: dataOf(Type.Object({ id: Type.String({ format: 'uuid' }) })) },
      },
    },
    async request => {
      const id = webhookId(request.params.id)
      await remove(request.caller.account, id)
      return { data: { id }, statusCode: 200 }
    },
  )
}

function addRepairs(app: FastifyInstance, { rotate, test, attempts, replayOne, replaySpan, now }: WebhookOptions): void {
  app.post<ById>(
    '/gw/webhooks/:id/rotate',
    {
      config: { emptyBody: true },
      schema: { summary: 'Troca o segredo; os dois assinam por 24 h', tags, response: { 200: dataOf(endpointWithSecretSchema) } },
    },
    async request => withSecret(await rotate(request.caller.account, webhookId(request.params.id)), 200),
  )
  app.post<ById>(
    '/gw/webhooks/:id/test',
    {
      config: { emptyBody: true },
      schema: {
        summary: 'Envia um evento de teste',
        tags,
        response: { 201: dataOf(Type.Object({ mensagem: Type.String({ format: 'uuid' }) })) },
      },
    },
    async (request, reply) => {
      const mensagem = await test(request.caller.account, webhookId(request.params.id))
      return reply.code(201).send({ data: { mensagem }, statusCode: 201 })
    },
  )
  app.get<ById & { Querystring: Static<typeof attemptsQuery> }>(
    '/gw/webhooks/:id/attempts',
    {
      schema: {
        summary: 'Tentativas de entrega, da mais nova à mais antiga',
        tags,
        querystring: attemptsQuery,
        response: { 200: dataOf(Type.Array(attemptSchema)) },
      },
    },
    async request => {
      const question = readQuestion(request.query)
      const found = await attempts(request.caller.account, webhookId(request.params.id), question)
      return { data: found.map(attemptToWire), statusCode: 200 }
    },
  )
  app.post<ById & { Body: Static<typeof replayBody> }>(
    '/gw/webhooks/:id/replay',
    {
      schema: {
        summary: 'Reenvia uma mensagem, ou todas desde um momento',
        tags,
        body: replayBody,
        response: { 200: dataOf(Type.Object({ mensagens: Type.Integer() })) },
      },
    },
    async request => {
      const { account } = request.caller
      const wanted = readReplay(request.body, now())
      const id = webhookId(request.params.id)
      if (typeof wanted !== 'string') return { data: { mensagens: await replaySpan(account, id, wanted) }, statusCode: 200 }
      await replayOne(account, id, wanted)
      return { data: { mensagens: 1 }, statusCode: 200 }
    },
  )
}

const answer = (endpoint: WebhookEndpoint) => ({ data: endpointToWire(endpoint), statusCode: 200 })

const withSecret = ({ endpoint, secret }: WithSecret, statusCode: number) => ({
  data: { ...endpointToWire(endpoint), segredo: secret },
  statusCode,
})

/** A key left out, or null, is a field left alone. */
function readChanges(body: Static<typeof editBody>): EndpointChanges {
  const changes: EndpointChanges = {}
  if (body.url != null) changes.url = body.url
  if (body.versao != null) changes.version = body.versao
  if (body.canais != null) changes.channels = readChannels(body.canais)
  if (body.situacoes != null) changes.statuses = readStatuses(body.situacoes)
  if (body.ativo != null) changes.active = body.ativo
  if (Object.keys(changes).length === 0) refuse('webhookNothingToChange')
  return changes
}

function readQuestion({ antesDe, mensagem, somenteFalhas }: Static<typeof attemptsQuery>): AttemptQuery {
  if (antesDe !== undefined && !/^\d{1,15}$/.test(antesDe)) refuse('notAttempt', 'antesDe')
  const message = mensagem === undefined ? null : (readId(mensagem) ?? refuse('notId', 'mensagem'))
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
