import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ChannelModule } from '../../channels/channel.js'
import { moduleOf } from '../../channels/registry.js'
import { labelEvent } from '../../domain/delivery/event-label.js'
import type { Failure } from '../../domain/delivery/status.js'
import type { Fact, FactType } from '../../domain/delivery/transition.js'
import { refuse } from '../../domain/errors.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { type GradeContext, gradeContext, gradeOf, isSimulated } from '../../domain/evidence/grade.js'
import { hideLinks } from '../../domain/recipient/link.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { readTimeline, type TimelineEvent } from '../../store/notification/event-log.js'
import type { Pool } from '../../store/postgres.js'
import { gradeToWire, proofSchema } from './grade-wire.js'
import { type ByNotification, channelName, dataAnswer, dataRoute, notificationId } from './wire.js'

const optional = (description: string) => Type.Optional(Type.String({ description }))

const eventSchema = Type.Object({
  seq: Type.Integer({ description: 'A ordem na cadeia de eventos.' }),
  dateTime: Type.String({ description: 'Quando foi registrado.', examples: ['18/07/2026 01:01:32'] }),
  occurredAt: optional('Quando aconteceu, segundo a origem, se foi antes de outro evento já registrado.'),
  type: Type.String({ description: 'O tipo, para programas.', examples: ['delivered'] }),
  label: Type.String({ description: 'O mesmo, para pessoas.', examples: ['Entregue'] }),
  canal: Type.Optional(channelName),
  origem: Type.String({ description: 'De quem é a informação: a API, uma operadora, o destinatário, a régua, um operador.' }),
  tentativa: Type.Optional(Type.Integer({ description: 'O número da tentativa de envio, a partir de 1.' })),
  operadora: optional('A conexão pela qual foi.'),
  motivo: optional('Por quê.'),
  respostaOperadora: optional('A resposta da operadora, como veio.'),
  respostaDestinatario: optional('O texto que o destinatário escreveu.'),
  prova: proofSchema,
  hash: Type.String({ description: 'O hash do evento na cadeia (SHA-256).' }),
  detalhes: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'O que mais se sabe. Vazio também quando os dados foram apagados.',
  }),
})

export type EventWire = Static<typeof eventSchema>

/** GET /gw/events/{idEmail}: everything that happened to a notification, in order. */
export function addEvents(app: FastifyInstance, { pool }: { pool: Pool }): void {
  app.get<ByNotification>(
    '/gw/events/:idEmail',
    dataRoute('Situação', 'Linha do tempo de uma notificação', Type.Array(eventSchema)),
    async request => {
      const { events, hasQuestion } = (await readTimeline(pool, request.caller, notificationId(request))) ?? refuse('noStatus')
      const context = gradeContext(events[0], hasQuestion)
      return dataAnswer(events.map(event => eventToWire(event, context)))
    },
  )
}

/** Identifiers of ours that say nothing to a sender. */
const INTERNAL = ['account', 'token', 'answerId', 'answerIds', 'signed', 'fromSender']

export function eventToWire(event: TimelineEvent, context: GradeContext): EventWire {
  const { seq, at, type, source, data, hash } = event
  // Hidden when it was recorded, too: a link that got in nevertheless must not get out here.
  const shown = type === 'accepted' || data === null ? (data ?? {}) : hideLinks(data)
  const { channel, occurredAt, attempt, carrier, reason, answer, reply, ...rest } = shown
  const module = typeof channel === 'string' ? moduleOf(channel) : null
  const said = type === 'answered' ? answer : reply
  const { failureDetail, ...details } = Object.fromEntries(Object.entries(rest).filter(([name]) => !INTERNAL.includes(name)))
  return {
    seq,
    dateTime: brazilianDate(at),
    ...member('occurredAt', typeof occurredAt === 'string' ? brazilianDate(new Date(occurredAt)) : undefined),
    type,
    label: labelEvent(type as FactType | 'accepted', shown as Fact['data'], module),
    ...(module === null ? {} : { canal: module.wire }),
    origem: source,
    ...(typeof attempt === 'number' ? { tentativa: attempt } : {}),
    ...member('operadora', carrier),
    ...member('motivo', reason ?? reasonOf(rest.failure, failureDetail, module)),
    ...member('respostaOperadora', type === 'answered' ? undefined : answer),
    ...member('respostaDestinatario', said),
    prova: gradeToWire(gradeOf(event, context), isSimulated(event)),
    hash,
    detalhes: details,
  }
}

const member = (name: string, value: Json | undefined): Record<string, string> =>
  typeof value === 'string' ? { [name]: value } : {}

function reasonOf(failure: Json | undefined, detail: Json | undefined, module: ChannelModule | null): string | undefined {
  if (typeof failure !== 'string' || typeof detail !== 'string') return undefined
  const { explain = (_: Failure, text: string) => text } = module?.labels ?? {}
  return explain(failure as Failure, detail) ?? undefined
}
