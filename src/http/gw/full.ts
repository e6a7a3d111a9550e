import type { FastifyInstance } from 'fastify'
import { type TObject, Type } from 'typebox'
import type { ChannelContract, DocumentUrl } from '../../channels/channel.js'
import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { brazilianDate } from '../../domain/dates.js'
import { Refusal } from '../../domain/errors.js'
import { explainFailure, lastStep, type Step, timeline } from '../../domain/status.js'
import type { NotificationStatuses } from '../../store/delivery/deliveries.js'
import { pathId } from './wire.js'

/** GET /gw/full/{idEmail}: every channel of a notification at once, with its steps. */
export interface FullOptions {
  contracts: ReadonlyMap<Channel, ChannelContract>
  documentUrl: DocumentUrl
  findNotification(account: string, id: string): Promise<NotificationStatuses | null>
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

export function addFull(app: FastifyInstance, { contracts, findNotification, documentUrl }: FullOptions): void {
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
  app.get<{ Params: { idEmail: string } }>(
    '/gw/full/:idEmail',
    { schema: { summary: 'Situação de todos os canais', tags: ['Situação'], response: { 200: fullSchema } } },
    async request => {
      const found = await findNotification(request.caller.account, pathId(request.params.idEmail, 'noStatus'))
      if (found === null) throw new Refusal('noStatus')
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
