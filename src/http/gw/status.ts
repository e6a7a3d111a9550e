import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { Refusal } from '../../domain/errors.js'
import { type Channel, channels } from '../../domain/notification.js'
import { describe, explainFailure, validationFailures } from '../../domain/status.js'
import type { FoundStatus, StatusQuestion } from '../../store/deliveries.js'
import { dateOrEmpty, dateOrNull, pathId, wireChannels } from './wire.js'

/** GET /gw/{channel}/{idEmail}: what became of a notification on one channel. Every member is always present. */
const text = Type.String()
const textOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'] })
const date = (description: string) =>
  Type.String({ description: `${description} ("" enquanto não aconteceu).`, examples: ['18/07/2026 01:01:32'] })
const dateOrNothing = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description: `${description} (null enquanto não aconteceu).` })

const reason = Type.Optional(Type.String({ description: 'Por que falhou, e o que fazer; presente só depois que falhou.' }))
const reasonOf = (status: FoundStatus): { failureReason?: string } => {
  const failureReason = explainFailure(status)
  return failureReason === null ? {} : { failureReason }
}

interface StatusRecord {
  schema: TSchema
  from(status: FoundStatus, links: RecordLinks): object
}

/** Addresses that records name. */
export interface RecordLinks {
  letterProof(notification: string): string
  recording(notification: string): string
}

export const statusRecords: Record<Channel, StatusRecord> = {
  email: {
    schema: Type.Object({
      dateSend: date('Envio'),
      dateDelivery: date('Entrega'),
      dateReading: dateOrNothing('Primeira leitura'),
      dateAcceptance: dateOrNothing('Confirmação do recebimento'),
      error: Type.Boolean(),
      description: text,
      failureReason: textOrNull,
      failureReasonDescription: textOrNull,
      customID: textOrNull,
      idEmail: text,
    }),
    from: status => {
      const validation = status.failure === 'validation' ? validationFailures[status.failureDetail ?? ''] : undefined
      return {
        dateSend: dateOrEmpty(status.sentAt),
        dateDelivery: dateOrEmpty(status.deliveredAt),
        dateReading: dateOrNull(status.readAt),
        dateAcceptance: dateOrNull(status.confirmedAt),
        error: status.failure !== null,
        description: describe(status),
        failureReason: validation?.label ?? null,
        failureReasonDescription: validation?.description ?? null,
        customID: status.customId,
        idEmail: status.notification,
      }
    },
  },
  whatsapp: {
    schema: Type.Object({
      description: text,
      dateSent: dateOrNothing('Envio'),
      dateDelivery: dateOrNothing('Entrega'),
      dateResponse: dateOrNothing('Resposta'),
      dateAccessLink: dateOrNothing('Acesso ao link'),
      error: Type.Boolean(),
      failureReason: textOrNull,
      customID: textOrNull,
      idEmail: text,
    }),
    from: status => ({
      description: describe(status),
      dateSent: dateOrNull(status.sentAt),
      dateDelivery: dateOrNull(status.deliveredAt),
      dateResponse: dateOrNull(status.answeredAt),
      dateAccessLink: dateOrNull(status.linkOpenedAt),
      error: status.failure !== null,
      failureReason: status.failure === null ? null : (explainFailure(status) ?? describe(status)),
      customID: status.customId,
      idEmail: status.notification,
    }),
  },
  letter: {
    schema: Type.Object({
      description: text,
      error: Type.Boolean(),
      dateProcessing: dateOrNothing('Processamento'),
      datePreparation: dateOrNothing('Preparação'),
      dateDelivery: dateOrNothing('Entrega'),
      dateSent: Type.Optional(Type.String({ description: 'Postagem; presente só depois que aconteceu.' })),
      sro: textOrNull,
      linkSvcCartaComprovante: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'Comprovante em PDF, desde o processamento.',
      }),
      linkRastreio: textOrNull,
      failureReason: reason,
    }),
    from: (status, links) => ({
      description: describe(status),
      error: status.failure !== null,
      dateProcessing: dateOrNull(status.processedAt),
      datePreparation: dateOrNull(status.preparedAt),
      dateDelivery: dateOrNull(status.deliveredAt),
      ...(status.sentAt === null ? {} : { dateSent: dateOrNull(status.sentAt) }),
      sro: status.trackingCode,
      linkSvcCartaComprovante: status.processedAt === null ? null : links.letterProof(status.notification),
      linkRastreio: status.trackingCode === null ? null : trackingLink(status.trackingCode),
      ...reasonOf(status),
    }),
  },
  sms: {
    schema: Type.Object({
      dateSend: date('Envio'),
      dateReading: dateOrNothing('Leitura, pelo acesso ao link'),
      description: text,
      dateAnswered: dateOrNothing('Primeira resposta'),
      answered: Type.Array(text, { description: 'Respostas, da mais antiga à mais nova.' }),
      failureReason: reason,
    }),
    from: status => ({
      dateSend: dateOrEmpty(status.sentAt),
      dateReading: dateOrNull(status.readAt),
      description: describe(status),
      dateAnswered: dateOrNull(status.answeredAt),
      answered: status.answers.map(answer => answer.text),
      ...reasonOf(status),
    }),
  },
  voice: {
    schema: Type.Object({
      dateSent: dateOrNothing('Chamada'),
      dateSuccessCall: dateOrNothing('Chamada atendida'),
      dateFailureCall: Type.Optional(Type.String({ description: 'Chamada que falhou; presente só depois que aconteceu.' })),
      description: text,
      linkCall: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Gravação da ligação, quando há.' }),
      failureReason: reason,
    }),
    from: (status, links) => ({
      dateSent: dateOrNull(status.sentAt),
      dateSuccessCall: dateOrNull(status.deliveredAt),
      ...(status.failedAt === null ? {} : { dateFailureCall: dateOrNull(status.failedAt) }),
      description: describe(status),
      linkCall: status.trackingCode === null ? null : links.recording(status.notification),
      ...reasonOf(status),
    }),
  },
}

const trackingLink = (code: string): string =>
  `https://rastreamento.correios.com.br/app/index.php?objetos=${encodeURIComponent(code)}`

export interface StatusOptions {
  links: RecordLinks
  findStatus(question: StatusQuestion): Promise<FoundStatus | null>
}

const summaries: Record<Channel, string> = {
  email: 'Situação do e-mail',
  sms: 'Situação do SMS',
  whatsapp: 'Situação do WhatsApp',
  voice: 'Situação da ligação',
  letter: 'Situação da carta',
}

export function addStatus(app: FastifyInstance, { findStatus, links }: StatusOptions): void {
  for (const channel of channels) {
    const { schema, from } = statusRecords[channel]
    app.get<{ Params: { idEmail: string } }>(
      `/gw/${wireChannels[channel]}/:idEmail`,
      { schema: { summary: summaries[channel], tags: ['Situação'], response: { 200: schema } } },
      async request => {
        const notification = pathId(request.params.idEmail, 'noStatus')
        const status = await findStatus({ account: request.caller.account, notification, channel })
        if (status === null) throw new Refusal('noStatus')
        return from(status, links)
      },
    )
  }
}
