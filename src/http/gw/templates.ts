import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { channelModules, findModule, moduleOf } from '../../channels/registry.js'
import { readVariables } from '../../channels/request-part.js'
import type { TemplateRunner } from '../../channels/template-runner.js'
import type { Clock } from '../../domain/clock.js'
import { refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import { freeObject, optionalText, optionalVisible, requiredText } from '../../domain/schema.js'
import type { Scope } from '../../domain/scope.js'
import { neutralWordingWarnings } from '../../domain/send/neutral-wording.js'
import { MAX_TEMPLATE_VARIABLES, type TemplateVariable, templateRefusal } from '../../domain/send/template.js'
import { brazilianIso } from '../../domain/text/dates.js'
import {
  createTemplate,
  editTemplate,
  requireTemplate,
  type TemplateDraft,
  type TemplateEdit,
  type TemplateParts,
} from '../../engine/templates.js'
import { listTemplates, type Template, type TemplatePage } from '../../store/accounts/templates.js'
import type { Pool } from '../../store/postgres.js'
import {
  type ById,
  channelName,
  dataAnswer,
  dataRoute,
  isoDate,
  listOrNull,
  optionalBoolean,
  pathId,
  textOrNull,
  uuid,
} from './wire.js'

/** A page is in memory whole, and is written by one turn of the event loop. */
const MAX_PAGE = 500
const PAGE_BYTES = 2_097_152
/** The channels by the `type` of the list. */
const byCode = new Map(channelModules.map(module => [module.templates.code, module]))
const typeNames = [...byCode].map(([code, { label }]) => `${code} ${label}`).sort()

const variableSchema = Type.Object({
  nome: requiredText({ description: 'Como aparece no conteúdo: {{ nome }}.' }),
  obrigatoria: Type.Boolean({ description: 'true: um envio sem o valor dela é recusado.' }),
})
const externalId = 'Identificador próprio, seu ou da operadora.'
const sharing = 'true: as outras contas da entidade podem usar o template.'
const ownData = 'Dados seus, guardados como vierem.'
const variables = 'As variáveis do conteúdo.'
type WireVariable = Static<typeof variableSchema>
const templateSchema = Type.Object({
  id: uuid('O identificador público do template.'),
  templateId: textOrNull(externalId),
  nome: Type.String({ description: 'O nome, único por tipo.' }),
  tipo: channelName,
  conteudo: Type.String({ description: 'Liquid: {{ nome }}.' }),
  variaveis: Type.Array(variableSchema, { description: variables }),
  compartilhadoComEntidade: Type.Boolean({ description: sharing }),
  ativo: Type.Boolean({ description: 'false: novos envios não podem usá-lo.' }),
  versao: Type.Integer({ description: 'Sobe a cada mudança do conteúdo.' }),
  criadoEm: isoDate('Criação'),
  atualizadoEm: isoDate('Última mudança'),
  criadoPor: Type.String({ description: 'O nome da conta que o criou.' }),
  metadata: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description: ownData }),
  avisos: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Extensão: o que convém rever no texto, que é aceito assim mesmo. Ausente: nada.',
    }),
  ),
  teste: Type.Optional(
    Type.Boolean({ description: 'true: criado com um token de teste e visível só a eles. Ausente nos da conta.' }),
  ),
})

const shared = {
  templateId: optionalText({ description: externalId }),
  variaveis: listOrNull<WireVariable>(variableSchema, {
    description: `${variables} Se ausente ao criar: as que o conteúdo usa, todas obrigatórias.`,
  }),
  compartilhadoComEntidade: optionalBoolean(sharing),
  metadata: freeObject({ description: ownData }),
}
const createBody = Type.Object({
  nome: requiredText({ description: 'O nome, único por tipo.' }),
  tipo: channelName,
  conteudo: requiredText({ description: 'A mensagem, com variáveis em Liquid: {{ nome }}.' }),
  ...shared,
})
const editBody = Type.Object({
  nome: optionalVisible('O novo nome. Ausente: fica como está.'),
  conteudo: optionalVisible('O novo conteúdo, que vira uma nova versão. Ausente: fica como está.'),
  ...shared,
})
const statusBody = Type.Object({ ativo: Type.Boolean({ description: 'true ativa, false desativa.' }) })
const previewBody = Type.Object({ variaveis: freeObject({ description: 'Valores das variáveis.' }) })
const listQuery = Type.Object({
  type: Type.Optional(Type.String({ description: `${typeNames.join(', ')}.` })),
  cursor: Type.Optional(
    Type.String({ description: 'O id do último template da página anterior. O cabeçalho Link traz o endereço.' }),
  ),
  limit: Type.Optional(Type.String({ description: `Templates por página, até ${MAX_PAGE}.` })),
})
const versionQuery = Type.Object({ versao: Type.Optional(Type.String({ description: 'Uma versão anterior.' })) })

const route = dataRoute.bind(null, 'Templates')

/** /gw/templates: message templates, their versions and their preview. */
export function addTemplates(
  app: FastifyInstance,
  { pool, clock, templates }: { pool: Pool; clock: Clock; templates: TemplateRunner },
): void {
  const fields = { name: 'nome', content: 'conteudo', externalId: 'templateId' }
  const parts: TemplateParts = { pool, fields, check: templates.check }
  app.get<{ Querystring: Static<typeof listQuery> }>(
    '/gw/templates',
    route('Lista os templates, dos mais novos aos mais antigos, por páginas', Type.Array(templateSchema), {
      querystring: listQuery,
    }),
    async ({ caller, query }, reply) => {
      const channel = query.type === undefined ? null : byCode.get(query.type)?.channel
      if (channel === undefined) return dataAnswer([])
      const found = await listTemplates(pool, caller, channel, readPage(query))
      if (found.next !== null) {
        const next = new URLSearchParams({ ...query, cursor: found.next })
        // RFC 8288. A header, because existing clients know the members of the answer.
        reply.header('link', `</gw/templates?${next}>; rel="next"`)
      }
      return dataAnswer(found.templates.map(toWire))
    },
  )
  app.post<{ Body: Static<typeof createBody> }>(
    '/gw/templates',
    route('Cria um template', templateSchema, { body: createBody, status: 201 }),
    async (request, reply) => {
      const created = await createTemplate(parts, request.caller, readDraft(request.body), clock())
      return reply.code(201).send(dataAnswer(withWarnings(created), 201))
    },
  )
  app.get<ById & { Querystring: Static<typeof versionQuery> }>(
    '/gw/templates/:id',
    route('Mostra um template', templateSchema, { querystring: versionQuery }),
    async ({ caller, params, query }) =>
      dataAnswer(toWire(await requireTemplate(pool, caller, templateId(params), readVersion(query.versao)))),
  )
  const edit = async ({ caller, params }: { caller: Scope; params: ById['Params'] }, changes: TemplateEdit) =>
    dataAnswer(withWarnings(await editTemplate(parts, caller, templateId(params), changes)))
  app.put<ById & { Body: Static<typeof editBody> }>(
    '/gw/templates/:id',
    route('Edita um template', templateSchema, { body: editBody }),
    async request => edit(request, readEdit(request.body)),
  )
  app.patch<ById & { Body: Static<typeof statusBody> }>(
    '/gw/templates/:id/status',
    route('Ativa ou desativa um template', templateSchema, { body: statusBody }),
    async request => edit(request, { active: request.body.ativo }),
  )
  app.delete<ById>('/gw/templates/:id', route('Desativa um template', templateSchema), async request =>
    edit(request, { active: false }),
  )
  app.post<ById & { Body: Static<typeof previewBody> }>(
    '/gw/templates/:id/preview',
    route('Mostra um template preenchido', Type.Object({ conteudo: Type.String({ description: 'O conteúdo preenchido.' }) }), {
      body: previewBody,
    }),
    async ({ caller, params, body }) => {
      const values = readVariables(body.variaveis, 'variaveis')
      const template = await requireTemplate(pool, caller, templateId(params))
      const { content, variables, channel } = template
      const { html } = moduleOf(channel).templates
      const rendered = await templates.render(caller, { html, content, variables, values })
      if ('fault' in rendered) throw templateRefusal(rendered, 'variaveis')
      return dataAnswer({ conteudo: rendered.text })
    },
  )
}

const templateId = ({ id }: ById['Params']): string => pathId(id, 'templateMissing')

function readVersion(text: string | undefined): number | null {
  if (text === undefined) return null
  return /^\d{1,9}$/.test(text) ? Number(text) : refuse('templateMissing')
}

function readPage({ cursor, limit = String(MAX_PAGE) }: Static<typeof listQuery>): TemplatePage {
  const after = cursor === undefined ? null : (readId(cursor) ?? refuse('badCursor'))
  const wanted = /^\d{1,9}$/.test(limit) ? Number(limit) : 0
  if (wanted < 1 || wanted > MAX_PAGE) refuse('badLimit', String(MAX_PAGE))
  return { after, limit: wanted, bytes: PAGE_BYTES }
}

function readDraft(body: Static<typeof createBody>): TemplateDraft {
  return {
    name: body.nome,
    channel: findModule(body.tipo)!.channel,
    content: body.conteudo,
    variables: body.variaveis == null ? null : readDeclared(body.variaveis),
    externalId: body.templateId || null,
    shared: body.compartilhadoComEntidade ?? false,
    metadata: body.metadata ?? {},
  }
}

/** A member that is absent or null stays as it is. */
function readEdit(body: Static<typeof editBody>): TemplateEdit {
  const edit: TemplateEdit = {}
  if (body.nome != null) edit.name = body.nome
  if (body.conteudo != null) edit.content = body.conteudo
  if (body.variaveis != null) edit.variables = readDeclared(body.variaveis)
  if (body.templateId != null) edit.externalId = body.templateId || null
  if (body.compartilhadoComEntidade != null) edit.shared = body.compartilhadoComEntidade
  if (body.metadata != null) edit.metadata = body.metadata
  if (Object.keys(edit).length === 0) refuse('nothingToChange')
  return edit
}

function readDeclared(list: WireVariable[]): TemplateVariable[] {
  if (list.length > MAX_TEMPLATE_VARIABLES) refuse('tooManyVariables', String(MAX_TEMPLATE_VARIABLES))
  return list.map(({ nome, obrigatoria }) => ({ name: nome, required: obrigatoria }))
}

const withWarnings = (template: Template): Static<typeof templateSchema> => {
  const avisos = neutralWordingWarnings(template.content, moduleOf(template.channel).exposed)
  return { ...toWire(template), ...(avisos.length === 0 ? {} : { avisos }) }
}

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
  ...(template.mode === 'test' ? { teste: true } : {}),
})
