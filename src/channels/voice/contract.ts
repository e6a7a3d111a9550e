import { Type } from 'typebox'
import { dateOrNull } from '../../domain/dates.js'
import { readNumber } from '../../domain/phone.js'
import { freeObject, optionalObject, optionalText } from '../../domain/schema.js'
import { describe } from '../../domain/status.js'
import type { ChannelContract } from '../channel.js'
import { readVariables, recipientNumber, requireNumber } from '../request-part.js'
import { dateOrNothing, failureReason, failureReasonOf, text } from '../status-schema.js'
import { recordingDocument, voice } from './channel.js'

type VoicePart = { number?: string; template?: string | null; payload?: Record<string, unknown> | null }

export const voiceContract: ChannelContract = {
  part: {
    member: 'voz',
    schema: optionalObject({
      number: recipientNumber('Celular ou fixo, só dígitos.'),
      template: optionalText(),
      payload: freeObject(),
    }),
    refusals: { 'voz.number': 'badNumber' },
    read: ({ number, template = null, payload }: VoicePart) => ({
      recipient: requireNumber(number, 'any', 'voz.number'),
      request: { template, payload: readVariables(payload) },
      template,
      immediate: false,
    }),
  },
  status: {
    summary: 'Situação da ligação',
    schema: Type.Object({
      dateSent: dateOrNothing('Chamada'),
      dateSuccessCall: dateOrNothing('Chamada atendida'),
      dateFailureCall: Type.Optional(Type.String({ description: 'Chamada que falhou; presente só depois que aconteceu.' })),
      description: text,
      linkCall: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Gravação da ligação, quando há.' }),
      failureReason,
    }),
    from: (status, documentUrl) => ({
      dateSent: dateOrNull(status.sentAt),
      dateSuccessCall: dateOrNull(status.deliveredAt),
      ...(status.failedAt === null ? {} : { dateFailureCall: dateOrNull(status.failedAt) }),
      description: describe(status, voice),
      linkCall: status.trackingCode === null ? null : documentUrl(recordingDocument, status.notification),
      ...failureReasonOf(status, voice),
    }),
  },
  readContact: text => readNumber(text, 'any'),
  contactKind: 'um número deste canal',
}
