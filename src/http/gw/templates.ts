import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { channelModules, findModule, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { brazilianIso } from '../../domain/dates.js'
import { Refusal, refuse } from '../../domain/errors.js'
import type { JsonObject } from '../../domain/notification.js'
import { freeObject, optionalText, requiredText } from '../../domain/schema.js'
import { MAX_TEMPLATE_CHARACTERS, renderTemplate, type TemplateVariable, templateRefusal } from '../../domain/template.js'
import { countCharacters } from '../../domain/text.js'
import type { TemplateDraft, TemplateEdit } from '../../engine/templates.js'
import type { Template } from '../../store/accounts/templates.js'
import { pathId } from './wire.js'

/** /gw/templates: message templates, their versions and their preview. */
export interface TemplateOptions {
  list(account: string, channel: Channel | null): Promise<Template[]>
  find(account: string, id: string, version: number | null): Promise<Template>
  create(account: string, draft: TemplateDraft): Promise<Template>
  edit(account: string, id: string, edit: TemplateEdit): Promise<Template>
}

const MAX_NAME_CHARACTERS = 255
/** The channels by the list's `type`, and by their names on the wire. */
const byCode = new Map(channelModules.map(module => [module.templates.code, module]))
const wireNames = channelModules.map(({ wire }) => wire)

const typeDescription = `${[...byCode]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([code, { label }]) => `${code} ${label}`)
  .join(', ')}.`

const variableSchema = Type.Object({ nome: requiredText(), obrigatoria: Type.Boolean() })
const templateSchema = Type.Object({
  id: Type.String({ format: 'uuid' }),
  templateId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Identificador próprio, seu ou da operadora.',
  }),
  nome: Type.String(),
  tipo: Type.Unsafe<string>({ type: 'string', enum: wireNames }),
  conteudo: Type.String({ description: 'Liquid: {{ nome }}.' }),
  variaveis: Type.Array(variableSchema),
  compartilhadoComEntidade: Type.Boolean(),
  ativo: Type.Boolean(),
  versao: Type.Integer(),
  criadoEm: Type.String(),
  atualizadoEm: Type.String(),
  criadoPor: Type.String(),
  metadata: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
})
const answerSchema = Type.Object({ data: templateSchema, statusCode: Type.Integer() })
const listSchema = Type.Object({ data: Type.Array(templateSchema), statusCode: Type.Integer() })
const previewSchema = Type.Object({ data: Type.Object({ conteudo: Type.String() }), statusCode: Type.Integer() })

const optionalBoolean = Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }))
const optionalVariables = Type.Optional(
  Type.Unsafe<Static<typeof variableSchema>[] | null>({ type: ['array', 'null'], items: variableSchema }),
)
const shared = {
  templateId: optionalText(),
  variaveis: optionalVariables,
  compartilhadoComEntidade: optionalBoolean,
  metadata: freeObject(),
}
const createBody = Type.Object({
  nome: requiredText(),
  tipo: Type.Unsafe<string>({ type: 'string', enum: wireNames }),
  conteudo: requiredText(),
  ...shared,
})
const optionalVisible = optionalText({ pattern: '\\S' })
const editBody = Type.Object({ nome: optionalVisible, conteudo: optionalVisible, ...shared })
const statusBody = Type.Object({ ativo: Type.Boolean() })
const previewBody = Type.Object({ variaveis: freeObject({ description: 'Valores das variáveis.' }) })

type ById = { Params: { id: string } }
const tags = ['Templates']
const answers = { 200: answerSchema }

export function addTemplates(app: FastifyInstance, { list, find, create, edit }: TemplateOptions): void {
  app.get<{ Querystring: { type?: string } }>(
    '/gw/templates',
    {
      schema: {
        summary: 'Lista os templates',
        tags,
        querystring: Type.Object({
          type: Type.Optional(Type.String({ description: typeDescription })),
        }),
        response: { 200: listSchema },
      },
    },
    async request => {
      const { type } = request.query
      const channel = type === undefined ? null : byCode.get(type)?.channel
      const found = channel === undefined ? [] : await list(request.caller.account, channel)
      return { data: found.map(toWire), statusCode: 200 }
    },
  )
  app.post<{ Body: Static<typeof createBody> }>(
    '/gw/templates',
    { schema: { summary: 'Cria um template', tags, body: createBody, response: { 201: answerSchema } } },
    async (request, reply) => {
      const created = await create(request.caller.account, readDraft(request.body))
      return reply.code(201).send(answer(created, 201))
    },
  )
  app.get<ById & { Querystring: { versao?: string } }>(
    '/gw/templates/:id',
    {
      schema: {
        summary: 'Mostra um template',
        tags,
        querystring: Type.Object({ versao: Type.Optional(Type.String({ description: 'Uma versão anterior.' })) }),
        response: answers,
      },
    },
    async request => answer(await find(request.caller.account, templateId(request.params.id), readVersion(request.query.versao))),
  )
  app.put<ById & { Body: Static<typeof editBody> }>(
    '/gw/templates/:id',
    { schema: { summary: 'Edita um template', tags, body: editBody, response: answers } },
    async request => {
      const changes = readEdit(request.body)
      return answer(await edit(request.caller.account, templateId(request.params.id), changes))
    },
  )
  app.patch<ById & { Body: Static<typeof statusBody> }>(
    '/gw/templates/:id/status',
    { schema: { summary: 'Ativa ou desativa um template', tags, body: statusBody, response: answers } },
    async request => answer(await edit(request.caller.account, templateId(request.params.id), { active: request.body.ativo })),
  )
  app.delete<ById>('/gw/templates/:id', { schema: { summary: 'Desativa um template', tags, response: answers } }, async request =>
    answer(await edit(request.caller.account, templateId(request.params.id), { active: false })),
  )
  app.post<ById & { Body: Static<typeof previewBody> }>(
    '/gw/templates/:id/preview',
    { schema: { summary: 'Mostra um template preenchido', tags, body: previewBody, response: { 200: previewSchema } } },
    async request => {
      const template = await find(request.caller.account, templateId(request.params.id), null)
      const values = (request.body.variaveis ?? {}) as JsonObject
      const rendered = renderTemplate(moduleOf(template.channel).templates.html, template.content, template.variables, values)
      if ('fault' in rendered) throw templateRefusal(rendered)
      return { data: { conteudo: rendered.text }, statusCode: 200 }
    },
  )
}

const templateId = (text: string): string => pathId(text, 'templateMissing')

function readVersion(text: string | undefined): number | null {
  if (text === undefined) return null
  if (!/^\d{1,9}$/.test(text)) throw new Refusal('templateMissing')
  return Number(text)
}

function readDraft(body: Static<typeof createBody>): TemplateDraft {
  return {
    name: name(body.nome),
    channel: findModule(body.tipo)!.channel,
    content: content(body.conteudo),
    variables: body.variaveis == null ? null : readVariables(body.variaveis),
    externalId: externalId(body.templateId),
    shared: body.compartilhadoComEntidade ?? false,
    metadata: body.metadata ?? {},
  }
}

/** A key left out, or null, is a field left alone. */
function readEdit(body: Static<typeof editBody>): TemplateEdit {
  const edit: TemplateEdit = {}
  if (body.nome != null) edit.name = name(body.nome)
  if (body.conteudo != null) edit.content = content(body.conteudo)
  if (body.variaveis != null) edit.variables = readVariables(body.variaveis)
  if (body.templateId != null) edit.externalId = externalId(body.templateId)
  if (body.compartilhadoComEntidade != null) edit.shared = body.compartilhadoComEntidade
  if (body.metadata != null) edit.metadata = body.metadata
  if (Object.keys(edit).length === 0) refuse('nothingToChange')
  return edit
}

const name = (text: string): string => within(text, MAX_NAME_CHARACTERS, 'nome')
const content = (text: string): string => within(text, MAX_TEMPLATE_CHARACTERS, 'conteudo')
const externalId = (text: string | null | undefined): string | null =>
  text == null || text === '' ? null : within(text, MAX_NAME_CHARACTERS, 'templateId')

function within(text: string, limit: number, field: string): string {
  if (text.length > limit && countCharacters(text) > limit) refuse('tooLong', field, String(limit))
  return text
}

function readVariables(list: Static<typeof variableSchema>[]): TemplateVariable[] {
  const repeated = list.find(({ nome }, index) => list.findIndex(other => other.nome === nome) !== index)
  if (repeated !== undefined) refuse('repeatedVariable', repeated.nome)
  return list.map(({ nome, obrigatoria }) => ({ name: nome, required: obrigatoria }))
}

const answer = (template: Template, statusCode = 200) => ({ data: toWire(template), statusCode })

const toWire = (template: Template): Static<typeof templateSchema> => ({
  id: template.id,
  templateId: template.externalId,
  nome: template.name,
  tipo: moduleOf(template.channel).wire,
  conteudo: template.content,
  variaveis: template.variables.map(variable => ({ nome: variable.name, obrigatoria: variable.required })),
  compartilhadoComEntidade: template.shared,
  ativo: template.active,
  versao: template.version,
  criadoEm: brazilianIso(template.createdAt),
  atualizadoEm: brazilianIso(template.updatedAt),
  criadoPor: template.accountName,
  metadata: template.metadata,
})
