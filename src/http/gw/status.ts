import type { FastifyInstance } from 'fastify'
import { type TObject, Type } from 'typebox'
import type { ChannelContract, DocumentUrl } from '../../channels/channel.js'
import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { brazilianDate } from '../../domain/dates.js'
import { refuse } from '../../domain/errors.js'
import type { Scope } from '../../domain/scope.js'
import { explainFailure, lastStep, type Step, timeline } from '../../domain/status.js'
import type { FoundStatus, NotificationStatuses, StatusQuestion } from '../../store/delivery/deliveries.js'
import { type ByNotification, notificationId } from './wire.js'

export interface StatusOptions {
  contracts: ReadonlyMap<Channel, ChannelContract>
  documentUrl: DocumentUrl
  findStatus(question: StatusQuestion): Promise<FoundStatus | null>
  findNotification(scope: Scope, id: string): Promise<NotificationStatuses | null>
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

const step = Type.Object({ label: Type.String(), dateTime: Type.String() })
const lastStepSchema = Type.Object({
  ...step.properties,
  reason: Type.Optional(Type.String({ description: 'Por que falhou; presente só depois que falhou.' })),
})
const perChannel = <T>(value: (channel: Channel) => T): Record<string, T> =>
  Object.fromEntries(channelModules.map(({ wire, channel }) => [wire, value(channel)]))

const toWire = ({ label, at }: Step) => ({ label, dateTime: brazilianDate(at) })

function toLast(status: Status) {
  const module = moduleOf(status.channel)
  const reason = explainFailure(status, module)
  return { ...toWire(lastStep(status, module)), ...(reason === null ? {} : { reason }) }
}

/** GET /gw/full/{idEmail}: every channel of a notification at once, with its steps. */
export function addFull(app: FastifyInstance, { contracts, findNotification, documentUrl }: StatusOptions): void {
  const recordOf = (channel: Channel) => contracts.get(channel)!.status
  const recordSchema = (channel: Channel) => {
    const { schema, full } = recordOf(channel)
    return full === undefined ? schema : Type.Object({ ...(schema as TObject).properties, ...full.members })
  }
  const toRecord = (status: Status): object => {
    const { from, full } = recordOf(status.channel)
    return { ...from(status, documentUrl), ...full?.from(status) }
  }
  const fullSchema = Type.Object({
    codEmail: Type.Integer(),
    statusFull: Type.Object(perChannel(() => Type.Optional(Type.Array(step)))),
    lastStatus: Type.Object(perChannel(() => Type.Optional(lastStepSchema))),
    ...perChannel(channel => Type.Array(recordSchema(channel))),
  })
  app.get<ByNotification>(
    '/gw/full/:idEmail',
    { schema: { summary: 'Situação de todos os canais', tags: ['Situação'], response: { 200: fullSchema } } },
    async request => {
      const found = (await findNotification(request.caller, notificationId(request))) ?? refuse('noStatus')
      const used = found.statuses.map(status => ({ module: moduleOf(status.channel), status }))
      return {
        codEmail: found.code,
        statusFull: Object.fromEntries(used.map(({ module, status }) => [module.wire, timeline(status, module).map(toWire)])),
        lastStatus: Object.fromEntries(used.map(({ module, status }) => [module.wire, toLast(status)])),
        ...perChannel(channel => found.statuses.filter(status => status.channel === channel).map(toRecord)),
      }
    },
  )
}

const proofSchema = Type.Object({
  content: Type.Optional(Type.String({ description: 'PDF em base64.' })),
  message: Type.Optional(Type.String()),
})
const reportSchema = { description: 'O laudo.', content: { 'application/pdf': { schema: Type.String({ format: 'binary' }) } } }

/** The proof of a send and its report. Proofs are not made yet: the first route always answers that nothing can be proven, the second one 404. */
export function addProofs(app: FastifyInstance, { findNotification }: StatusOptions): void {
  app.get<ByNotification>(
    '/gw/sending-proof/:idEmail',
    { schema: { summary: 'Comprovante de envio', tags: ['Comprovantes'], response: { 200: proofSchema } } },
    async request => {
      if ((await findNotification(request.caller, notificationId(request))) === null) refuse('noStatus')
      return { message: 'Ainda não há o que comprovar: nenhum canal desta notificação foi enviado.' }
    },
  )
  app.get(
    '/gw/email/laudo/:idEmail',
    { schema: { summary: 'Laudo do e-mail, em PDF', tags: ['Comprovantes'], response: { 200: reportSchema } } },
    async () => refuse('reportMissing'),
  )
}
