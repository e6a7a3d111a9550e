import { Type } from 'typebox'
import { describe } from '../../domain/delivery/status.js'
import { freeObject, optionalObject, optionalText } from '../../domain/schema.js'
import { dateOrAbsent } from '../../domain/text/dates.js'
import { readNumber } from '../../domain/text/phone.js'
import type { ChannelContract } from '../channel-contract.js'
import { numberRefusals, PHONE_COLUMNS, readVariables, recipientNumber, requireNumber } from '../request-part.js'
import { dateOnceHappened, failureReason, failureReasonOf, situation, textOnceKnown } from '../status-schema.js'
import { recordingDocument, voice } from './channel.js'

type VoicePart = { number: string; template?: string | null; payload?: Record<string, unknown> | null }

export const voiceContract: ChannelContract = {
  part: {
    member: 'voz',
    schema: optionalObject(
      {
        number: recipientNumber('Celular ou fixo, só dígitos.'),
        template: optionalText({
          description: 'Template da ligação (id, templateId ou nome). Sem ele não há o que falar, e ninguém é chamado.',
        }),
        payload: freeObject({ description: 'Valores das variáveis do template: textos, números, true ou false.' }),
      },
      { required: ['number'], description: 'A ligação deste envio.' },
    ),
    refusals: { 'voz.number': numberRefusals },
    read: ({ number, template = null, payload }: VoicePart) => ({
      recipient: requireNumber(number, 'any', 'voz.number'),
      request: { template, payload: readVariables(payload, 'voz.payload') },
      template,
      turn: 'sequence',
    }),
  },
  form: [
    {
      path: 'voz.number',
      kind: 'phone',
      pt: 'Telefone',
      en: 'Phone number',
      example: '11987654321',
      required: true,
      columns: ['voz', 'ligação', 'telefone voz', 'telefone fixo', 'fixo', 'número voz'],
      sharedColumns: PHONE_COLUMNS,
    },
  ],
  status: {
    summary: 'Situação da ligação',
    schema: Type.Object({
      dateSent: dateOnceHappened('Chamada'),
      dateSuccessCall: dateOnceHappened('Chamada atendida'),
      dateFailureCall: dateOnceHappened('Chamada que falhou; nunca junto de dateSuccessCall'),
      description: situation,
      linkCall: textOnceKnown('Gravação da ligação, quando há'),
      failureReason,
    }),
    from: (status, documentUrl) => ({
      dateSent: dateOrAbsent(status.sentAt),
      // Existing clients read the two as alternatives. The steps of GET /gw/full show a call that was heard before it failed.
      dateSuccessCall: status.failedAt === null ? dateOrAbsent(status.deliveredAt) : undefined,
      dateFailureCall: dateOrAbsent(status.failedAt),
      description: describe(status, voice),
      linkCall: status.recording === null ? undefined : documentUrl(recordingDocument, status.notification),
      ...failureReasonOf(status, voice),
    }),
  },
  readContact: text => readNumber(text, 'any'),
  contactKind: 'um número deste canal',
}
