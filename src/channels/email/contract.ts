import { Type } from 'typebox'
import { dateOrEmpty, dateOrNull } from '../../domain/dates.js'
import { refuse } from '../../domain/errors.js'
import { optionalText } from '../../domain/schema.js'
import { describe } from '../../domain/status.js'
import type { ChannelContract } from '../channel.js'
import { date, dateOrNothing, text, textOrNull } from '../status-schema.js'
import { readEmailAddress } from './address.js'
import { email } from './channel.js'
import { validationFailures } from './validation-failures.js'

export const emailContract: ChannelContract = {
  part: {
    member: 'to',
    schema: optionalText({ description: 'E-mail do destinatário. Obrigatório quando o envio é somente por e-mail.' }),
    read(address: string) {
      if (address === '') return null
      const recipient = readEmailAddress(address) ?? refuse('badEmail', 'to')
      return { recipient, request: {}, template: null, immediate: false }
    },
  },
  status: {
    summary: 'Situação do e-mail',
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
  },
  readContact: address => readEmailAddress(address)?.toLowerCase() ?? null,
  contactKind: 'um endereço de e-mail',
}
