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

/** From the bytes of a send request to a request in our own words, or a refusal. Pure: runs in the server or in a thread. */
const MAX_CUSTOM_ID_CHARACTERS = 255

const parts = [...(await loadContracts())].map(([channel, { part }]) => ({ channel, ...part }))

const coreSchema = {
  nameTo: requiredText({ description: 'Nome do destinatário.' }),
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
}
const partSchemas: Record<string, TSchema> = Object.fromEntries(parts.map(({ member, schema }) => [member, schema]))

export const sendRequestSchema = Type.Object({ ...coreSchema, ...partSchemas })

const check = compileCheck(sendRequestSchema, Object.assign({}, ...parts.map(({ refusals }) => refusals)))

export function readSend(raw: Uint8Array, limits: AttachmentLimits): SendRequest {
  const given = check(parseUntrustedJson(raw)) as Record<string, unknown>
  const body = given as Static<ReturnType<typeof Type.Object<typeof coreSchema>>>
  for (const field of ['nameTo', 'subject'] as const) if (hasControlCharacters(body[field])) refuse('lineBreak', field)
  const deliveries = readDeliveries(given)
  return {
    recipientName: body.nameTo,
    subject: body.subject,
    content: body.content,
    customId: atMost(body.customID, MAX_CUSTOM_ID_CHARACTERS, 'customID'),
    deliveries,
    validation: body.validation == null ? null : validation(body.validation),
    attachments: readAttachments(body.attachments ?? [], limits),
  }
}

/** At least one: the address is required where it is the only channel. */
function readDeliveries(given: Record<string, unknown>): RequestedDelivery[] {
  const deliveries = parts.flatMap(({ channel, member, read }) => {
    const value = given[member]
    const requested = value === undefined || value === null ? null : read(value as never)
    return requested === null ? [] : [{ channel, ...requested }]
  })
  if (deliveries.length > 0) return deliveries
  const [, ...others] = parts
  return refuse('toRequired', others.map(({ member }) => member).join(', '))
}

function validation(given: { question: string; reply: string }): { question: string; reply: string } {
  // A reply of punctuation alone could never be told from another.
  if (normaliseReply(given.reply) === '') refuse('required', 'validation.reply')
  return given
}
