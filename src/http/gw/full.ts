import type { FastifyInstance } from 'fastify'
import { type TObject, type TSchema, Type } from 'typebox'
import { brazilianDate } from '../../domain/dates.js'
import { Refusal } from '../../domain/errors.js'
import { type Channel, channels } from '../../domain/notification.js'
import { explainFailure, lastStep, type Step, timeline } from '../../domain/status.js'
import type { NotificationStatuses } from '../../store/deliveries.js'
import { type RecordLinks, statusRecords } from './status.js'
import { pathId, wireChannels } from './wire.js'

/** GET /gw/full/{idEmail}: every channel of a notification at once, with its steps. */
export interface FullOptions {
  links: RecordLinks
  findNotification(account: string, id: string): Promise<NotificationStatuses | null>
}

const step = Type.Object({ label: Type.String(), dateTime: Type.String() })
const lastStepSchema = Type.Object({
  ...step.properties,
  reason: Type.Optional(Type.String({ description: 'Por que falhou; presente só depois que falhou.' })),
})
const perChannel = <T>(value: (channel: (typeof channels)[number]) => T): Record<string, T> =>
  Object.fromEntries(channels.map(channel => [wireChannels[channel], value(channel)]))

const segments = Type.Integer({
  description: 'Partes em que o SMS saiu, cada uma cobrada pela operadora; presente só depois do envio.',
})
const recordSchema = (channel: Channel): TSchema =>
  channel === 'sms'
    ? Type.Object({ ...(statusRecords.sms.schema as TObject).properties, segments: Type.Optional(segments) })
    : statusRecords[channel].schema

const fullSchema = Type.Object({
  codEmail: Type.Integer(),
  statusFull: Type.Object(perChannel(() => Type.Optional(Type.Array(step)))),
  lastStatus: Type.Object(perChannel(() => Type.Optional(lastStepSchema))),
  ...perChannel(channel => Type.Array(recordSchema(channel))),
})

const toWire = ({ label, at }: Step) => ({ label, dateTime: brazilianDate(at) })

const toLast = (status: NotificationStatuses['statuses'][number]) => {
  const reason = explainFailure(status)
  return { ...toWire(lastStep(status)), ...(reason === null ? {} : { reason }) }
}

/** What the lookup of the channel answers, and what it cost. */
const toRecord = (status: NotificationStatuses['statuses'][number], links: RecordLinks): object => ({
  ...statusRecords[status.channel].from(status, links),
  ...(status.segments === null ? {} : { segments: status.segments }),
})

export function addFull(app: FastifyInstance, { findNotification, links }: FullOptions): void {
  app.get<{ Params: { idEmail: string } }>(
    '/gw/full/:idEmail',
    { schema: { summary: 'Situação de todos os canais', tags: ['Situação'], response: { 200: fullSchema } } },
    async request => {
      const found = await findNotification(request.caller.account, pathId(request.params.idEmail, 'noStatus'))
      if (found === null) throw new Refusal('noStatus')
      const used = found.statuses.map(status => ({ name: wireChannels[status.channel], status }))
      return {
        codEmail: found.code,
        statusFull: Object.fromEntries(used.map(({ name, status }) => [name, timeline(status).map(toWire)])),
        lastStatus: Object.fromEntries(used.map(({ name, status }) => [name, toLast(status)])),
        ...perChannel(channel =>
          found.statuses.filter(status => status.channel === channel).map(status => toRecord(status, links)),
        ),
      }
    },
  )
}
