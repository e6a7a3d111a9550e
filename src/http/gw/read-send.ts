import { type Static, type TSchema, Type } from 'typebox'
import { loadContracts } from '../../channels/registry.js'
import { atMost } from '../../channels/request-part.js'
import { type AttachmentLimits, readAttachments } from '../../domain/attachment.js'
import { refuse } from '../../domain/errors.js'
import { parseUntrustedJson } from '../../domain/json.js'
import type { RequestedDelivery, SendRequest } from '../../domain/notification.js'
import { normaliseReply } from '../../domain/reply.js'
import { compileCheck, optionalObject, optionalText, requiredText } from '../../domain/schema.js'
import { hasControlCharacters } from '../../domain/text.js'
import { listOrNull } from './wire.js'

const MAX_CUSTOM_ID_CHARACTERS = 255

const parts = [...(await loadContracts())].map(([channel, { part }]) => ({ channel, ...part }))

const coreSchema = {
  nameTo: requiredText({ description: 'Nome do destinatário.' }),
  subject: requiredText({ description: 'Assunto da mensagem.' }),
  content: requiredText({ description: 'Conteúdo da mensagem em HTML.' }),
  customID: optionalText({ description: 'Referência externa, devolvida nas consultas. Até 255 caracteres.' }),
  attachments: listOrNull<{ name: string; base64: string }>(Type.Object({ name: requiredText(), base64: requiredText() })),
  validation: optionalObject(
    { question: requiredText(), reply: requiredText() },
    { required: ['question', 'reply'], description: 'Proteção por pergunta e resposta. Exige habilitação da conta.' },
  ),
}
const partSchemas: Record<string, TSchema> = Object.fromEntries(parts.map(({ member, schema }) => [member, schema]))

export const sendRequestSchema = Type.Object({ ...coreSchema, ...partSchemas })

const check = compileCheck(sendRequestSchema, Object.assign({}, ...parts.map(({ refusals }) => refusals)))

/** Reads the bytes of a send request, or refuses them. It is pure and runs in the server or in a thread. */
export function readSend(raw: Uint8Array, limits: AttachmentLimits): SendRequest {
  const given = check(parseUntrustedJson(raw)) as Record<string, unknown>
  const body = given as Static<ReturnType<typeof Type.Object<typeof coreSchema>>>
  for (const field of ['nameTo', 'subject'] as const) if (hasControlCharacters(body[field])) refuse('lineBreak', field)
  const deliveries = readDeliveries(given)
  const customId = atMost(body.customID, MAX_CUSTOM_ID_CHARACTERS, 'customID')
  // A reply of punctuation alone could not be distinguished from another one.
  if (body.validation != null && normaliseReply(body.validation.reply) === '') refuse('required', 'validation.reply')
  return {
    recipientName: body.nameTo,
    subject: body.subject,
    content: body.content,
    customId,
    deliveries,
    validation: body.validation ?? null,
    attachments: readAttachments(body.attachments ?? [], limits),
  }
}

/** At least one. The refusal asks for the first channel's address and names the members of the others. */
function readDeliveries(given: Record<string, unknown>): RequestedDelivery[] {
  const deliveries = parts.flatMap(({ channel, member, read }) => {
    const requested = given[member] == null ? null : read(given[member] as never)
    return requested === null ? [] : [{ channel, ...requested }]
  })
  if (deliveries.length > 0) return deliveries
  const [, ...others] = parts
  return refuse('toRequired', others.map(({ member }) => member).join(', '))
}
