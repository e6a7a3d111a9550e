import { type Static, type TSchema, Type } from 'typebox'
import { loadContracts } from '../../channels/registry.js'
import { atMost } from '../../channels/request-part.js'
import { refuse } from '../../domain/errors.js'
import type { RequestedDelivery, SendRequest } from '../../domain/notification.js'
import { normaliseReply } from '../../domain/recipient/reply.js'
import { hasVisibleContent } from '../../domain/recipient/visible-content.js'
import {
  compileCheck,
  findUnknownMembers,
  optionalObject,
  optionalText,
  requiredText,
  type UnknownMembers,
} from '../../domain/schema.js'
import { type AttachmentLimits, readAttachments } from '../../domain/send/attachment.js'
import { readSendTime } from '../../domain/send/send-time.js'
import { parseUntrustedJson } from '../../domain/text/json.js'
import { hasControlCharacters } from '../../domain/text/text.js'
import { listOrNull, optionalBoolean } from './wire.js'

const MAX_CUSTOM_ID_CHARACTERS = 255

const parts = [...(await loadContracts())].map(([channel, { part }]) => ({ channel, ...part }))

const coreSchema = {
  nameTo: requiredText({ description: 'Nome do destinatário.' }),
  subject: requiredText({ description: 'Assunto da mensagem.' }),
  content: requiredText({ description: 'Conteúdo da mensagem em HTML, com algum texto ou imagem.' }),
  customID: optionalText({ description: 'Referência externa, devolvida nas consultas. Até 255 caracteres.' }),
  attachments: listOrNull<{ name: string; base64: string }>(
    Type.Object({
      name: requiredText({ description: 'Nome do arquivo, sem caminho.' }),
      base64: requiredText({ description: 'O arquivo em base64, sem o prefixo data:.' }),
    }),
    { description: 'Arquivos que vão com a mensagem.' },
  ),
  sendAt: optionalText({
    description:
      'Extensão: nada sai antes deste momento, até 90 dias à frente: ISO 8601 com fuso (2026-12-01T09:00:00-03:00) ou hora de Brasília (01/12/2026 09:00). Ausente: sai na hora.',
  }),
  allowDuplicate: optionalBoolean(
    'Extensão: true repete a mensagem a quem já recebeu a mesma há pouco. Ausente ou false: a repetição fica sem enviar.',
  ),
  validation: optionalObject(
    {
      question: requiredText({ description: 'A pergunta que o destinatário vê antes de ler.' }),
      reply: requiredText({ description: 'A resposta certa. Acentos, maiúsculas, espaços e pontuação não contam.' }),
    },
    { required: ['question', 'reply'], description: 'Proteção por pergunta e resposta. Exige habilitação da conta.' },
  ),
}
const partSchemas: Record<string, TSchema> = Object.fromEntries(
  parts.flatMap(({ member, schema, beside = {} }) => [[member, schema] as const, ...Object.entries(beside)]),
)

export const sendRequestSchema = Type.Object({ ...coreSchema, ...partSchemas })

const check = compileCheck(sendRequestSchema, Object.assign({}, ...parts.map(({ refusals }) => refusals)))

/** Reads the bytes of a send request, or refuses them. It is pure and runs in the server or in a thread. */
export function readSend(raw: Uint8Array, limits: AttachmentLimits): { request: SendRequest; unknown: UnknownMembers } {
  const given = check(parseUntrustedJson(raw)) as Record<string, unknown>
  const body = given as Static<ReturnType<typeof Type.Object<typeof coreSchema>>>
  for (const field of ['nameTo', 'subject'] as const) if (hasControlCharacters(body[field])) refuse('lineBreak', field)
  // A notice that shows nothing would still count as delivered.
  if (!hasVisibleContent(body.content)) refuse('emptyContent', 'content')
  const deliveries = readDeliveries(given, body.allowDuplicate === true)
  const customId = atMost(body.customID, MAX_CUSTOM_ID_CHARACTERS, 'customID')
  // A reply of punctuation alone could not be distinguished from another one.
  if (body.validation != null && normaliseReply(body.validation.reply) === '') refuse('required', 'validation.reply')
  const request = {
    recipientName: body.nameTo,
    subject: body.subject,
    content: body.content,
    customId,
    sendAt: readSendTime(body.sendAt),
    deliveries,
    validation: body.validation ?? null,
    attachments: readAttachments(body.attachments ?? [], limits),
  }
  return { request, unknown: findUnknownMembers(sendRequestSchema, given) }
}

/** At least one. The refusal asks for the first channel's address and names the members of the others. */
function readDeliveries(given: Record<string, unknown>, allowDuplicate: boolean): RequestedDelivery[] {
  const deliveries = parts.flatMap(({ channel, member, read }) => {
    const requested = given[member] == null ? null : read(given[member] as never, given as never)
    if (requested === null) return []
    // Stored with each delivery, because it is asked for when the delivery is sent.
    return [{ channel, ...requested, ...(allowDuplicate ? { request: { ...requested.request, allowDuplicate } } : {}) }]
  })
  if (deliveries.length > 0) return deliveries
  const [, ...others] = parts
  return refuse('toRequired', others.map(({ member }) => member).join(', '))
}
