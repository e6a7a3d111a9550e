import { Type } from 'typebox'
import { describe } from '../../domain/delivery/status.js'
import { refuse } from '../../domain/errors.js'
import { freeObject, optionalObject, optionalText } from '../../domain/schema.js'
import { dateOrEmpty, dateOrNull } from '../../domain/text/dates.js'
import { readNumber } from '../../domain/text/phone.js'
import { isBlank } from '../../domain/text/text.js'
import type { ChannelContract } from '../channel-contract.js'
import {
  atMost,
  numberRefusals,
  PHONE_COLUMNS,
  readVariables,
  recipientNumber,
  requireLoneLinks,
  requireNumber,
} from '../request-part.js'
import { date, dateOrNothing, failureReason, failureReasonOf, situation, text } from '../status-schema.js'
import { sms } from './channel.js'

type SmsPart = Partial<Record<'typeSend' | 'customMessage' | 'template', string | null>> & {
  number: string
  variables?: Record<string, unknown> | null
}

const FIELD = 'sms.customMessage'

export const smsContract: ChannelContract = {
  part: {
    member: 'sms',
    schema: optionalObject(
      {
        number: recipientNumber('Celular, só dígitos.'),
        typeSend: Type.Optional(
          Type.Unsafe<string | null>({
            enum: ['1', '2', null],
            description:
              "'1': só se o e-mail não for enviado ou entregue, com qualquer régua. '2': sempre. Ausente: segue a régua; sem ela, '1'.",
          }),
        ),
        customMessage: optionalText({
          description:
            'Texto próprio, até 140 caracteres; aceita {SHORT_LINK}, separado por espaços. Em branco: o texto do serviço.',
        }),
        template: optionalText({
          description:
            'Extensão: template do SMS (id, templateId ou nome), em lugar de customMessage. Preenchido, até 918 caracteres.',
        }),
        variables: freeObject({ description: 'Extensão: valores das variáveis do template: textos, números, true ou false.' }),
      },
      { required: ['number'], description: 'O SMS deste envio.' },
    ),
    refusals: { 'sms.number': numberRefusals, 'sms.typeSend': 'badTypeSend' },
    read({ number, typeSend, customMessage, template, variables }: SmsPart) {
      const always = typeSend === '2'
      // A blank text would be an empty SMS that counts as delivered.
      const text = customMessage == null || isBlank(customMessage) ? null : customMessage
      const own = requireLoneLinks(atMost(text, 140, FIELD), FIELD)
      if (own !== null && template) refuse('twoTexts', FIELD, sms.templates.member)
      const values = requireLoneLinks(readVariables(variables, 'sms.variables'), 'sms.variables')
      return {
        recipient: requireNumber(number, 'mobile', 'sms.number'),
        request: { always, customMessage: own, ...(template ? { template, variables: values } : {}) },
        template: template || null,
        // Absent, it is '1' only where the account has no sequence for it.
        turn: typeSend == null ? 'sequence' : always ? 'immediate' : 'fallback',
      }
    },
  },
  form: [
    {
      path: 'sms.number',
      kind: 'phone',
      pt: 'Celular',
      en: 'Mobile number',
      example: '11987654321',
      required: true,
      columns: ['sms', 'celular sms', 'telefone sms', 'número sms'],
      sharedColumns: PHONE_COLUMNS,
    },
    {
      path: FIELD,
      kind: 'long',
      pt: 'Texto (em branco: o do serviço)',
      en: 'Text (blank: the service’s own)',
      example: 'Aviso sobre o contrato 4711: {SHORT_LINK}',
      withoutTemplate: true,
      columns: ['texto sms', 'mensagem sms'],
    },
    {
      path: 'sms.typeSend',
      kind: 'choice',
      pt: 'Quando sai',
      en: 'When it goes',
      choices: [
        { value: '', pt: 'Segue a régua', en: 'As the sequence says' },
        { value: '1', pt: 'Só se o e-mail não chegar', en: 'Only if the e-mail does not arrive' },
        { value: '2', pt: 'Sempre, na hora', en: 'Always, at once' },
      ],
    },
  ],
  status: {
    summary: 'Situação do SMS',
    schema: Type.Object({
      dateSend: date('Envio'),
      dateReading: dateOrNothing('Leitura, pelo acesso ao link'),
      description: situation,
      dateAnswered: dateOrNothing('Primeira resposta'),
      answered: Type.Array(text('Uma resposta.'), { description: 'Respostas, da mais antiga à mais nova.' }),
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
