import { Type } from 'typebox'
import { readEmailAddress } from '../../channels/email/address.js'
import { type AttachmentLimits, readAttachments } from '../../domain/attachment.js'
import type { Json } from '../../domain/canonical-json.js'
import { refuse } from '../../domain/errors.js'
import { parseUntrustedJson } from '../../domain/json.js'
import type { JsonObject, SendRequest } from '../../domain/notification.js'
import { type NumberUse, readNumber } from '../../domain/phone.js'
import { normaliseReply } from '../../domain/reply.js'
import { countCharacters, hasControlCharacters } from '../../domain/text.js'
import { compileCheck, freeObject, optionalObject, optionalText, requiredText } from '../schema.js'

/** From the bytes of a send request to a request in our own words, or a refusal. Pure: runs in the server or in a thread. */
const MAX_SMS_CHARACTERS = 140
const MAX_CUSTOM_ID_CHARACTERS = 255

const recipientNumber = (description: string) => Type.Optional(Type.String({ description, examples: ['11987654321'] }))

export const sendRequestSchema = Type.Object({
  nameTo: requiredText({ description: 'Nome do destinatário.' }),
  to: optionalText({ description: 'E-mail do destinatário. Obrigatório quando o envio é somente por e-mail.' }),
  subject: requiredText({ description: 'Assunto da mensagem.' }),
  content: requiredText({ description: 'Conteúdo da mensagem em HTML.' }),
  customID: optionalText({ description: 'Referência externa, devolvida nas consultas. Até 255 caracteres.' }),
  attachments: Type.Optional(
    Type.Unsafe<{ name: string; base64: string }[] | null>({
      type: ['array', 'null'],
      items: Type.Object({ name: requiredText(), base64: requiredText() }),
    }),
  ),
  validation: optionalObject(
    { question: requiredText(), reply: requiredText() },
    { required: ['question', 'reply'], description: 'Proteção por pergunta e resposta. Exige habilitação da conta.' },
  ),
  sms: optionalObject({
    number: recipientNumber('Celular, só dígitos.'),
    typeSend: Type.Optional(Type.Unsafe<string | null>({ enum: ['1', '2', null] })),
    customMessage: optionalText({ description: 'Texto próprio, até 140 caracteres; aceita {SHORT_LINK}.' }),
  }),
  whatsapp: optionalObject({ number: recipientNumber('Celular, só dígitos.'), variables: freeObject() }),
  voz: optionalObject({
    number: recipientNumber('Celular ou fixo, só dígitos.'),
    template: optionalText(),
    payload: freeObject(),
  }),
  carta: optionalObject({ name: optionalText(), modelo: optionalText(), template: optionalText(), variables: freeObject() }),
})

const check = compileCheck(sendRequestSchema, {
  'sms.number': 'badNumber',
  'whatsapp.number': 'badNumber',
  'voz.number': 'badNumber',
  'sms.typeSend': 'badTypeSend',
})

export function readSend(raw: Uint8Array, limits: AttachmentLimits): SendRequest {
  const body = check(parseUntrustedJson(raw))
  for (const field of ['nameTo', 'subject'] as const) if (hasControlCharacters(body[field])) refuse('lineBreak', field)
  const { sms, whatsapp, voz, carta } = body
  const address = body.to === undefined || body.to === null || body.to === '' ? null : body.to
  if (address === null && sms == null && whatsapp == null && voz == null && carta == null) refuse('toRequired')
  return {
    recipientName: body.nameTo,
    email: address === null ? null : (readEmailAddress(address) ?? refuse('badEmail', 'to')),
    subject: body.subject,
    content: body.content,
    customId: atMost(body.customID, MAX_CUSTOM_ID_CHARACTERS, 'customID'),
    sms:
      sms == null
        ? null
        : {
            number: number(sms.number, 'mobile', 'sms.number'),
            always: sms.typeSend === '2',
            customMessage: atMost(sms.customMessage, MAX_SMS_CHARACTERS, 'sms.customMessage'),
          },
    whatsapp:
      whatsapp == null
        ? null
        : {
            number: number(whatsapp.number, 'mobile', 'whatsapp.number'),
            template: whatsappTemplate(whatsapp.variables),
            variables: variables(whatsapp.variables),
          },
    voice:
      voz == null
        ? null
        : { number: number(voz.number, 'any', 'voz.number'), template: voz.template ?? null, payload: variables(voz.payload) },
    letter:
      carta == null
        ? null
        : {
            name: carta.name ?? null,
            model: carta.modelo ?? null,
            template: carta.template ?? null,
            variables: variables(carta.variables),
          },
    validation: body.validation == null ? null : validation(body.validation),
    attachments: readAttachments(body.attachments ?? [], limits),
  }
}

const number = (value: string | undefined, use: NumberUse, field: string): string =>
  readNumber(value ?? '', use) ?? refuse('badNumber', field)

function atMost(text: string | null | undefined, limit: number, field: string): string | null {
  if (text == null) return null
  // Code points never outnumber UTF-16 units: most texts need no count.
  if (text.length > limit && countCharacters(text) > limit) refuse('tooLong', field, String(limit))
  return text
}

function whatsappTemplate(given: Record<string, unknown> | null | undefined): string | null {
  const template = given?.template
  if (template === undefined || template === null) return null
  return typeof template === 'string' ? template : refuse('notText', 'whatsapp.variables.template')
}

const variables = (given: Record<string, unknown> | null | undefined): JsonObject => (given ?? {}) as Record<string, Json>

function validation(given: { question: string; reply: string }): { question: string; reply: string } {
  // A reply of punctuation alone could never be told from another.
  if (normaliseReply(given.reply) === '') refuse('required', 'validation.reply')
  return given
}
