import { Type } from 'typebox'
import { dateOrNull } from '../../domain/dates.js'
import { freeObject, optionalObject, optionalText } from '../../domain/schema.js'
import { describe } from '../../domain/status.js'
import type { ChannelContract } from '../channel.js'
import { readVariables } from '../request-part.js'
import { dateOrNothing, failureReason, failureReasonOf, text, textOrNull } from '../status-schema.js'
import { letter, proofDocument } from './channel.js'

type LetterPart = Partial<Record<'name' | 'modelo' | 'template', string | null>> & { variables?: Record<string, unknown> | null }

export const letterContract: ChannelContract = {
  part: {
    member: 'carta',
    schema: optionalObject({ name: optionalText(), modelo: optionalText(), template: optionalText(), variables: freeObject() }),
    read: ({ name = null, modelo = null, template = null, variables }: LetterPart) => ({
      recipient: name,
      request: { model: modelo, template, variables: readVariables(variables) },
      template,
      immediate: false,
    }),
  },
  status: {
    summary: 'Situação da carta',
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
      failureReason,
    }),
    from: (status, documentUrl) => ({
      description: describe(status, letter),
      error: status.failure !== null,
      dateProcessing: dateOrNull(status.processedAt),
      datePreparation: dateOrNull(status.preparedAt),
      dateDelivery: dateOrNull(status.deliveredAt),
      ...(status.sentAt === null ? {} : { dateSent: dateOrNull(status.sentAt) }),
      sro: status.trackingCode,
      linkSvcCartaComprovante: status.processedAt === null ? null : documentUrl(proofDocument, status.notification),
      linkRastreio: status.trackingCode === null ? null : trackingLink(status.trackingCode),
      ...failureReasonOf(status, letter),
    }),
  },
  readContact: text => text,
  contactKind: 'um nome',
}

const trackingLink = (code: string): string =>
  `https://rastreamento.correios.com.br/app/index.php?objetos=${encodeURIComponent(code)}`
