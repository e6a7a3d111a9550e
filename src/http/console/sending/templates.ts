import type { FastifyInstance, FastifyRequest } from 'fastify'
import { SAMPLE_CODE } from '../../../channels/preview.js'
import { moduleOf } from '../../../channels/registry.js'
import { atMost } from '../../../channels/request-part.js'
import type { TemplateRunner } from '../../../channels/template-runner.js'
import type { Clock } from '../../../domain/clock.js'
import { planParts } from '../../../domain/delivery/message-parts.js'
import { refuse } from '../../../domain/errors.js'
import { readId } from '../../../domain/id.js'
import { LINK_PLACEHOLDER, linkBase } from '../../../domain/recipient/link.js'
import type { Scope } from '../../../domain/scope.js'
import { neutralWordingWarnings } from '../../../domain/send/neutral-wording.js'
import { MAX_TEMPLATE_CHARACTERS, templateRefusal } from '../../../domain/send/template.js'
import { countCharacters } from '../../../domain/text/text.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import {
  createTemplate,
  editTemplate,
  requireTemplate,
  type TemplateEdit,
  type TemplateParts,
} from '../../../engine/templates.js'
import { findAccount } from '../../../store/accounts/accounts.js'
import { listTemplates, listVersions, type Template } from '../../../store/accounts/templates.js'
import { recordAudit } from '../../../store/audit.js'
import type { SignedIn } from '../../../store/console/sessions.js'
import type { Pool } from '../../../store/postgres.js'
import { readChannel } from '../../channel-name.js'
import { accountOf, everyone, route, senders } from '../route.js'
import {
  type EditedTemplate,
  editedTemplate,
  type NewTemplate,
  newTemplate,
  previewBody,
  previewSchema,
  type TemplateDetail,
  type TemplatePreview,
  type TemplatePreviewBody,
  type TemplateQuery,
  type TemplateRow,
  type TemplatesPage,
  type TemplatesQuery,
  templateQuery,
  templateSchema,
  templatesPage,
  templatesQuery,
  versionSchema,
} from './templates-schema.js'

export interface ConsoleTemplateOptions {
  pool: Pool
  clock: Clock
  templates: TemplateRunner
  publicUrl(): string
}

const PAGE = { limit: 50, bytes: 4_194_304 }

type ById = { Params: { id: string }; Querystring: TemplateQuery }

/** /console/api/templates: the list, one template with its versions, its editing, and a content filled in while it is written. */
export function addConsoleTemplates(app: FastifyInstance, options: ConsoleTemplateOptions): void {
  const { pool, clock, templates } = options
  const partsFor = (request: FastifyRequest, action: string, detail: Record<string, unknown>): TemplateParts => ({
    pool,
    fields: { name: 'name', content: 'content', externalId: 'externalId' },
    check: templates.check,
    onWritten: (db, { id, name, version, account, mode }) =>
      recordAudit(db, {
        actor: actorOf(request.operator),
        action,
        subject: id,
        detail: { name, version, account, mode, ...detail },
      }),
  })
  const show = async (template: Template, scope: Scope, operator: SignedIn): Promise<TemplateDetail> => ({
    ...toRow(template, scope, operator),
    content: template.content,
    metadata: template.metadata,
    versions: (await listVersions(pool, template.id)).map(({ version, createdAt }) => ({
      version,
      createdAt: createdAt.toISOString(),
    })),
  })

  app.get<{ Querystring: TemplatesQuery }>(
    '/console/api/templates',
    route(everyone, { querystring: templatesQuery, response: { 200: templatesPage } }),
    async (request): Promise<TemplatesPage> => {
      const scope = await accountOf(pool, request)
      const { channel = '', cursor = '' } = request.query
      const after = cursor === '' ? null : (readId(cursor) ?? refuse('badCursor'))
      const found = await listTemplates(pool, scope, channel === '' ? null : readChannel(channel, { parameter: 'channel' }), {
        ...PAGE,
        after,
      })
      return { rows: found.templates.map(template => toRow(template, scope, request.operator)), cursor: found.next }
    },
  )
  app.get<ById>(
    '/console/api/templates/:id',
    route(everyone, { querystring: templateQuery, response: { 200: templateSchema } }),
    async request => {
      const scope = await accountOf(pool, request)
      return show(await requireTemplate(pool, scope, idOf(request)), scope, request.operator)
    },
  )
  app.get<ById & { Params: { version: string } }>(
    '/console/api/templates/:id/versions/:version',
    route(everyone, { querystring: templateQuery, response: { 200: versionSchema } }),
    async request => {
      const scope = await accountOf(pool, request)
      const version = /^\d{1,9}$/.test(request.params.version) ? Number(request.params.version) : refuse('templateMissing')
      const { content, variables } = await requireTemplate(pool, scope, idOf(request), version)
      return { content, variables }
    },
  )
  app.post<{ Querystring: TemplateQuery; Body: NewTemplate }>(
    '/console/api/templates',
    route(senders, { querystring: templateQuery, body: newTemplate, response: { 200: templateSchema } }),
    async request => {
      const scope = await accountOf(pool, request)
      const { channel, metadata = {}, ...given } = request.body
      const draft = {
        ...given,
        externalId: given.externalId || null,
        channel: readChannel(channel, { field: 'channel' }),
        metadata,
      }
      const parts = partsFor(request, 'create template', { channel })
      return show(await createTemplate(parts, scope, draft, clock()), scope, request.operator)
    },
  )
  app.put<ById & { Body: EditedTemplate }>(
    '/console/api/templates/:id',
    route(senders, { querystring: templateQuery, body: editedTemplate, response: { 200: templateSchema } }),
    async request => {
      const scope = await accountOf(pool, request)
      const edit: TemplateEdit = { ...request.body }
      if (edit.externalId === '') edit.externalId = null
      if (Object.keys(edit).length === 0) refuse('nothingToChange')
      // The contents are in the versions: the log says which members changed.
      const { name, externalId, shared, active, metadata } = edit
      const parts = partsFor(request, 'edit template', {
        changed: Object.keys(edit),
        set: { name, externalId, shared, active, metadata },
      })
      return show(await editTemplate(parts, scope, idOf(request), edit), scope, request.operator)
    },
  )
  // Changes nothing: the content may be one that the person is still writing.
  app.post<{ Querystring: TemplateQuery; Body: TemplatePreviewBody }>(
    '/console/api/templates/preview',
    route(everyone, { querystring: templateQuery, body: previewBody, response: { 200: previewSchema } }),
    async request => preview(options, await accountOf(pool, request), request.body),
  )
}

async function preview(
  { pool, templates, publicUrl: urlNow }: ConsoleTemplateOptions,
  scope: Scope,
  { channel, content, values }: TemplatePreviewBody,
): Promise<TemplatePreview> {
  const {
    templates: { html },
    fitText,
    exposed,
  } = moduleOf(readChannel(channel, { field: 'channel' }))
  const without = (problem: string): TemplatePreview => ({ variables: [], text: null, html, parts: null, problem, warnings: [] })
  const publicUrl = urlNow()
  const { settings } = (await findAccount(pool, scope.account)) ?? refuse('accountMissing')
  atMost(content, MAX_TEMPLATE_CHARACTERS, 'content')
  const used = await templates.check(scope, content, null)
  if ('fault' in used) return without(templateRefusal(used, 'variaveis').message)
  const names = used.map(({ name }) => name)
  const filled: Record<string, string> = Object.fromEntries(names.map(name => [name, values[name]?.trim() || `[${name}]`]))
  const rendered = await templates.render(scope, { html, content, variables: used, values: filled })
  if ('fault' in rendered) return { ...without(templateRefusal(rendered, 'variaveis').message), variables: names }
  const text = rendered.text.replaceAll(LINK_PLACEHOLDER, () => `${linkBase(settings, publicUrl)}/s/${SAMPLE_CODE}`)
  const warnings = neutralWordingWarnings(text, exposed)
  if (fitText === undefined) return { variables: names, text, html, parts: null, problem: null, warnings }
  const fitted = fitText(text, settings)
  const { parts, encoding } = planParts(fitted)
  const counted = { count: parts.length, encoding, characters: countCharacters(fitted) }
  return { variables: names, text: fitted, html, parts: counted, problem: null, warnings }
}

const idOf = ({ params }: { params: { id: string } }): string => readId(params.id) ?? refuse('templateMissing')

const toRow = (template: Template, { account, mode }: Scope, { role }: SignedIn): TemplateRow => ({
  id: template.id,
  name: template.name,
  channel: moduleOf(template.channel).wire,
  externalId: template.externalId,
  variables: template.variables,
  shared: template.shared,
  active: template.active,
  version: template.version,
  updatedAt: template.updatedAt.toISOString(),
  sharedBy: template.account === account ? null : template.accountName,
  isTest: template.mode === 'test',
  editable: role !== 'auditor' && template.account === account && template.mode === mode,
})
