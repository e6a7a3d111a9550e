import { Type } from 'typebox'
import { dateOrNull } from '../../domain/dates.js'
import { refuse } from '../../domain/errors.js'
import { readNumber } from '../../domain/phone.js'
import { freeObject, optionalObject } from '../../domain/schema.js'
import { describe, explainFailure } from '../../domain/status.js'
import type { ChannelContract } from '../channel.js'
import { readVariables, recipientNumber, requireLoneLinks, requireNumber } from '../request-part.js'
import { dateOrNothing, text, textOrNull } from '../status-schema.js'
import { whatsapp } from './channel.js'

type WhatsappPart = { number?: string; variables?: Record<string, unknown> | null }

export const whatsappContract: ChannelContract = {
  part: {
    member: 'whatsapp',
    schema: optionalObject({ number: recipientNumber('Celular, só dígitos.'), variables: freeObject() }),
    refusals: { 'whatsapp.number': 'badNumber' },
    read({ number, variables }: WhatsappPart) {
      const given = variables?.template ?? null
      const template = given === null || typeof given === 'string' ? given : refuse('notText', 'whatsapp.variables.template')
      return {
        recipient: requireNumber(number, 'mobile', 'whatsapp.number'),
        request: { template, variables: requireLoneLinks(readVariables(variables), 'whatsapp.variables') },
        template,
        immediate: false,
      }
    },
  },
  status: {
    summary: 'Situação do WhatsApp',
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
      description: describe(status, whatsapp),
      dateSent: dateOrNull(status.sentAt),
      dateDelivery: dateOrNull(status.deliveredAt),
      dateResponse: dateOrNull(status.answeredAt),
      dateAccessLink: dateOrNull(status.linkOpenedAt),
      error: status.failure !== null,
      failureReason: status.failure === null ? null : (explainFailure(status, whatsapp) ?? describe(status, whatsapp)),
      customID: status.customId,
      idEmail: status.notification,
    }),
  },
  readContact: text => readNumber(text, 'mobile'),
  contactKind: 'um número deste canal',
}
