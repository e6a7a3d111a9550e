import type { FastifyInstance } from 'fastify'
import { type TObject, Type } from 'typebox'
import type { ChannelContract, DocumentUrl } from '../../channels/channel-contract.js'
import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { labelEvent } from '../../domain/delivery/event-label.js'
import { type DatedStatus, explainFailure, lastStep, type Step, timeline } from '../../domain/delivery/status.js'
import type { Fact, FactType } from '../../domain/delivery/transition.js'
import { refuse } from '../../domain/errors.js'
import { gradeContext, gradeOf, isSimulated } from '../../domain/evidence/grade.js'
import type { Scope } from '../../domain/scope.js'
import { brazilianDate } from '../../domain/text/dates.js'
import type { FoundStatus, NotificationStatuses, StatusQuestion } from '../../store/delivery/deliveries.js'
import type { Timeline } from '../../store/notification/event-log.js'
import { gradeToWire, proofSchema } from './grade-wire.js'
import { type ByNotification, channelName, notificationId } from './wire.js'

export interface StatusOptions {
  contracts: ReadonlyMap<Channel, ChannelContract>
  documentUrl: DocumentUrl
  findStatus(question: StatusQuestion): Promise<FoundStatus | null>
  findNotification(scope: Scope, id: string): Promise<NotificationStatuses | null>
  readTimeline(scope: Scope, id: string): Promise<Timeline | null>
}

/** GET /gw/{channel}/{idEmail}: the status of a notification on one channel, as the channel's contract shows it. */
export function addStatus(app: FastifyInstance, { contracts, findStatus, documentUrl }: StatusOptions): void {
  for (const [channel, { status: record }] of contracts) {
    app.get<ByNotification>(
      `/gw/${moduleOf(channel).wire}/:idEmail`,
      { schema: { summary: record.summary, tags: ['Situação'], response: { 200: record.schema } } },
      async request => {
        const question = { scope: request.caller, notification: notificationId(request), channel }
        return record.from((await findStatus(question)) ?? refuse('noStatus'), documentUrl)
      },
    )
  }
}

type Status = NotificationStatuses['statuses'][number]

export const codeSchema = Type.Integer({ description: 'O número da notificação, para quem prefere um número ao idEmail.' })
const step = Type.Object({
  label: Type.String({ description: 'A situação, para pessoas.', examples: ['Entregue'] }),
  dateTime: Type.String({ description: 'Desde quando vale.', examples: ['18/07/2026 01:01:32'] }),
})
export const lastStepSchema = Type.Object({
  ...step.properties,
  reason: Type.Optional(Type.String({ description: 'Por que falhou; presente só depois que falhou.' })),
})
const answersSchema = Type.Optional(
  Type.Array(Type.String(), { description: 'Respostas, da mais antiga à mais nova; presente só depois da primeira.' }),
)
const perChannel = <T>(value: (channel: Channel, label: string) => T): Record<string, T> =>
  Object.fromEntries(channelModules.map(({ wire, channel, label }) => [wire, value(channel, label)]))

const toWire = ({ label, at }: Step) => ({ label, dateTime: brazilianDate(at) })

/** The present description of a delivery, since when it is valid, and why it failed. */
export function toLast(status: DatedStatus) {
  const module = moduleOf(status.channel)
  const reason = explainFailure(status, module)
  return { ...toWire(lastStep(status, module)), ...(reason === null ? {} : { reason }) }
}

const evidenceSchema = Type.Object(
  {
    eventos: Type.Integer({ description: 'Quantos eventos há na cadeia.' }),
    ultimoHash: Type.String({ description: 'O hash do último evento (SHA-256).' }),
    fatos: Type.Array(
      Type.Object({
        seq: Type.Integer({ description: 'A ordem na cadeia de eventos.' }),
        canal: channelName,
        label: step.properties.label,
        dateTime: Type.String({ description: 'Quando foi registrado.', examples: ['18/07/2026 01:01:32'] }),
        prova: proofSchema,
      }),
      { description: 'O que aconteceu em cada canal, e de quem é a palavra.' },
    ),
  },
  { description: 'O que prova a situação.' },
)

/** Events that say something about the message itself, not about our work on it. */
const FACTS: readonly string[] = [
  ...['processed', 'prepared', 'sent', 'delivered', 'read', 'link opened', 'confirmed', 'answered', 'failed', 'recorded'],
]

function toEvidence({ events, hasQuestion }: Timeline) {
  const context = gradeContext(events[0], hasQuestion)
  const facts = events.flatMap(event => {
    const { seq, at, type, data } = event
    if (!FACTS.includes(type) || typeof data?.channel !== 'string') return []
    const module = moduleOf(data.channel)
    const label = labelEvent(type as FactType, data as Fact['data'], module)
    const prova = gradeToWire(gradeOf(event, context), isSimulated(event))
    return [{ seq, canal: module.wire, label, dateTime: brazilianDate(at), prova }]
  })
  return { eventos: events.length, ultimoHash: events.at(-1)?.hash ?? '', fatos: facts }
}

/** GET /gw/full/{idEmail}: every channel of a notification at once, with its steps. */
export function addFull(app: FastifyInstance, options: StatusOptions): void {
  const readFull = createFullReader(options)
  const recordSchema = (channel: Channel) => {
    const { schema, full } = options.contracts.get(channel)!.status
    return Type.Object({ answered: answersSchema, ...(schema as TObject).properties, ...full?.members })
  }
  const fullSchema = Type.Object({
    codEmail: codeSchema,
    statusFull: Type.Object(
      perChannel((_, label) => Type.Optional(Type.Array(step, { description: `Por ${label}, da primeira situação à última.` }))),
      { description: 'O caminho por cada canal do envio.' },
    ),
    lastStatus: Type.Object(
      perChannel((_, label) => Type.Optional(Type.Object(lastStepSchema.properties, { description: `Por ${label}.` }))),
      { description: 'A situação de agora em cada canal do envio.' },
    ),
    ...perChannel((channel, label) =>
      Type.Array(recordSchema(channel), { description: `A consulta por ${label}; vazia se o envio não usou este canal.` }),
    ),
    evidencias: evidenceSchema,
  })
  app.get<ByNotification>(
    '/gw/full/:idEmail',
    { schema: { summary: 'Situação de todos os canais', tags: ['Situação'], response: { 200: fullSchema } } },
    request => readFull(request.caller, notificationId(request)),
  )
}

type FullOptions = Pick<StatusOptions, 'contracts' | 'findNotification' | 'readTimeline' | 'documentUrl'>

/** Reads what GET /gw/full answers; the console shows the same. */
export function createFullReader({ contracts, findNotification, readTimeline, documentUrl }: FullOptions) {
  const toRecord = (status: Status): object => {
    const { from, full } = contracts.get(status.channel)!.status
    const answered = status.answers.map(({ text }) => text)
    return { ...from(status, documentUrl), ...(answered.length === 0 ? {} : { answered }), ...full?.from(status) }
  }
  return async (scope: Scope, id: string): Promise<object> => {
    const found = (await findNotification(scope, id)) ?? refuse('noStatus')
    const history = (await readTimeline(scope, id)) ?? refuse('noStatus')
    const used = found.statuses.map(status => ({ module: moduleOf(status.channel), status }))
    return {
      codEmail: found.code,
      statusFull: Object.fromEntries(used.map(({ module, status }) => [module.wire, timeline(status, module).map(toWire)])),
      lastStatus: Object.fromEntries(used.map(({ module, status }) => [module.wire, toLast(status)])),
      ...perChannel(channel => found.statuses.filter(status => status.channel === channel).map(toRecord)),
      evidencias: toEvidence(history),
    }
  }
}
