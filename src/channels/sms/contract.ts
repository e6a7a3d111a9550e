import { Type } from 'typebox'
import { dateOrEmpty, dateOrNull } from '../../domain/dates.js'
import { readNumber } from '../../domain/phone.js'
import { optionalObject, optionalText } from '../../domain/schema.js'
import { describe } from '../../domain/status.js'
import type { ChannelContract } from '../channel.js'
import { atMost, recipientNumber, requireLoneLinks, requireNumber } from '../request-part.js'
import { date, dateOrNothing, failureReason, failureReasonOf, text } from '../status-schema.js'
import { sms } from './channel.js'

type SmsPart = { number?: string; typeSend?: string | null; customMessage?: string | null }

const FIELD = 'sms.customMessage'

export const smsContract: ChannelContract = {
  part: {
    member: 'sms',
    schema: optionalObject({
      number: recipientNumber('Celular, só dígitos.'),
      typeSend: Type.Optional(Type.Unsafe<string | null>({ enum: ['1', '2', null] })),
      customMessage: optionalText({
        description: 'Texto próprio, até 140 caracteres; aceita {SHORT_LINK}, separado por espaços.',
      }),
    }),
    refusals: { 'sms.number': 'badNumber', 'sms.typeSend': 'badTypeSend' },
    read({ number, typeSend, customMessage }: SmsPart) {
      const always = typeSend === '2'
      return {
        recipient: requireNumber(number, 'mobile', 'sms.number'),
        request: { always, customMessage: requireLoneLinks(atMost(customMessage, 140, FIELD), FIELD) },
        template: null,
        immediate: always,
      }
    },
  },
  status: {
    summary: 'Situação do SMS',
    schema: Type.Object({
      dateSend: date('Envio'),
      dateReading: dateOrNothing('Leitura, pelo acesso ao link'),
      description: text,
      dateAnswered: dateOrNothing('Primeira resposta'),
      answered: Type.Array(text, { description: 'Respostas, da mais antiga à mais nova.' }),
      failureReason,
    }),
    from: status => ({
      dateSend: dateOrEmpty(status.sentAt),
      dateReading: dateOrNull(status.readAt),
      description: describe(status, sms),
      dateAnswered: dateOrNull(status.answeredAt),
      answered: status.answers.map(answer => answer.text),
      ...failureReasonOf(status, sms),
    }),
    full: {
      members: {
        segments: Type.Optional(
          Type.Integer({
            description: 'Partes em que o SMS saiu, cada uma cobrada pela operadora; presente só depois do envio.',
          }),
        ),
      },
      from: ({ segments }) => (segments === null ? {} : { segments }),
    },
  },
  readContact: text => readNumber(text, 'mobile'),
  contactKind: 'um número deste canal',
}
