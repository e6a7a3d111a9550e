import { Type } from 'typebox'
import { describe, explainFailure } from '../../domain/delivery/status.js'
import { refuse } from '../../domain/errors.js'
import { freeObject, optionalObject } from '../../domain/schema.js'
import { dateOrAbsent } from '../../domain/text/dates.js'
import { readNumber } from '../../domain/text/phone.js'
import type { ChannelContract } from '../channel-contract.js'
import {
  numberRefusals,
  PHONE_COLUMNS,
  readVariables,
  recipientNumber,
  requireLoneLinks,
  requireNumber,
} from '../request-part.js'
import { customId, dateOnceHappened, failed, notificationId, situation, textOrNull } from '../status-schema.js'
import { whatsapp } from './channel.js'

type WhatsappPart = { number: string; variables?: Record<string, unknown> | null }

const FIELD = 'whatsapp.variables'

export const whatsappContract: ChannelContract = {
  part: {
    member: 'whatsapp',
    schema: optionalObject(
      {
        number: recipientNumber('Celular, só dígitos.'),
        variables: freeObject({
          description:
            'O template (template: id, templateId ou nome) e os valores das variáveis dele: textos, números, true ou false.',
        }),
      },
      { required: ['number'], description: 'A mensagem de WhatsApp deste envio.' },
    ),
    refusals: { 'whatsapp.number': numberRefusals },
    read({ number, variables }: WhatsappPart) {
      const given = variables?.template ?? null
      const template = given === null || typeof given === 'string' ? given : refuse('notText', 'whatsapp.variables.template')
      return {
        recipient: requireNumber(number, 'mobile', 'whatsapp.number'),
        request: { template, variables: requireLoneLinks(readVariables(variables, FIELD), FIELD) },
        template,
        turn: 'sequence',
      }
    },
  },
  form: [
    {
      path: 'whatsapp.number',
      kind: 'phone',
      pt: 'Celular com WhatsApp',
      en: 'WhatsApp number',
      example: '11987654321',
      required: true,
      columns: ['whatsapp', 'whats', 'zap', 'celular whatsapp', 'telefone whatsapp', 'número whatsapp'],
      sharedColumns: PHONE_COLUMNS,
    },
  ],
  status: {
    summary: 'Situação do WhatsApp',
    schema: Type.Object({
      description: situation,
      dateSent: dateOnceHappened('Envio'),
      dateDelivery: dateOnceHappened('Entrega'),
      dateResponse: dateOnceHappened('Resposta'),
      dateAccessLink: dateOnceHappened('Acesso ao link'),
      error: failed,
      failureReason: textOrNull('Por que falhou (null: não falhou).'),
      customID: customId,
      idEmail: notificationId,
    }),
    from: status => ({
      description: describe(status, whatsapp),
      dateSent: dateOrAbsent(status.sentAt),
      dateDelivery: dateOrAbsent(status.deliveredAt),
      dateResponse: dateOrAbsent(status.answeredAt),
      dateAccessLink: dateOrAbsent(status.linkOpenedAt),
      error: status.failure !== null,
      failureReason: status.failure === null ? null : (explainFailure(status, whatsapp) ?? describe(status, whatsapp)),
      customID: status.customId,
      idEmail: status.notification,
    }),
  },
  readContact: text => readNumber(text, 'mobile'),
  contactKind: 'um número deste canal',
}
