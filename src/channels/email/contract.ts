import { Type } from 'typebox'
import { describe, explainFailure } from '../../domain/delivery/status.js'
import { refuse } from '../../domain/errors.js'
import { freeObject, optionalText } from '../../domain/schema.js'
import { dateOrEmpty, dateOrNull } from '../../domain/text/dates.js'
import { readEmailAddress } from '../../domain/text/mail-address.js'
import type { ChannelContract } from '../channel-contract.js'
import { readVariables, requireLoneLinks } from '../request-part.js'
import { customId, date, dateOrNothing, failed, notificationId, situation, textOrNull } from '../status-schema.js'
import { email } from './channel.js'
import { validationFailures } from './validation-failures.js'

type EmailTemplate = { template?: string | null; variables?: Record<string, unknown> | null }

export const emailContract: ChannelContract = {
  part: {
    member: 'to',
    schema: optionalText({ description: 'E-mail do destinatário. Obrigatório quando o envio é somente por e-mail.' }),
    beside: {
      template: optionalText({
        description:
          'Extensão: template do e-mail (id, templateId ou nome). O e-mail leva o template preenchido; a página do destinatário continua com content.',
      }),
      variables: freeObject({
        description: 'Extensão: valores das variáveis do template do e-mail: textos, números, true ou false.',
      }),
    },
    read(address: string, { template, variables }: EmailTemplate) {
      if (address === '') return null
      const recipient = readEmailAddress(address) ?? refuse('badEmail', 'to')
      if (!template) return { recipient, request: {}, template: null, turn: 'sequence' }
      const values = requireLoneLinks(readVariables(variables, 'variables'), 'variables')
      return { recipient, request: { template, variables: values }, template, turn: 'sequence' }
    },
  },
  form: [
    {
      path: 'to',
      kind: 'address',
      pt: 'E-mail',
      en: 'E-mail',
      example: 'maria@example.com',
      required: true,
      columns: ['email', 'mail', 'correio eletrônico', 'endereço de e-mail', 'e-mail do destinatário', 'email do cliente'],
    },
  ],
  status: {
    summary: 'Situação do e-mail',
    schema: Type.Object({
      dateSend: date('Envio'),
      dateDelivery: date('Entrega'),
      dateReading: dateOrNothing('Primeira leitura'),
      dateAcceptance: dateOrNothing('Confirmação do recebimento'),
      error: failed,
      description: situation,
      failureReason: textOrNull('Por que o endereço foi recusado antes do envio, em poucas palavras (null: não foi).'),
      failureReasonDescription: textOrNull('O mesmo por extenso, e o que fazer.'),
      customID: customId,
      idEmail: notificationId,
    }),
    from(status) {
      const validation = status.failure === 'validation' ? validationFailures[status.failureDetail ?? ''] : undefined
      return {
        dateSend: dateOrEmpty(status.sentAt),
        dateDelivery: dateOrEmpty(status.deliveredAt),
        dateReading: dateOrNull(status.readAt),
        dateAcceptance: dateOrNull(status.confirmedAt),
        error: status.failure !== null,
        description: describe(status, email),
        failureReason: validation?.label ?? null,
        failureReasonDescription: validation?.description ?? null,
        customID: status.customId,
        idEmail: status.notification,
      }
    },
    full: {
      members: {},
      // The status record fills these two members for a failed validation only. Here every failure fills them, as the last status does.
      from: status =>
        status.failure === null || status.failure === 'validation'
          ? {}
          : {
              failureReason: describe(status, email),
              failureReasonDescription: explainFailure(status, email) ?? describe(status, email),
            },
    },
  },
  readContact: address => readEmailAddress(address)?.toLowerCase() ?? null,
  contactKind: 'um endereço de e-mail',
}
