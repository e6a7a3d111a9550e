import { moduleOf } from '../channels/registry.js'
import { atMost } from '../channels/request-part.js'
import type { Channel } from '../domain/channel.js'
import { Refusal, refuse } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { LINK_PLACEHOLDER, linkStandsAlone } from '../domain/recipient/link.js'
import type { Scope } from '../domain/scope.js'
import { MAX_TEMPLATE_CHARACTERS, type TemplateFault, type TemplateVariable, templateRefusal } from '../domain/send/template.js'
import { isBlank } from '../domain/text/text.js'
import { lockAccount } from '../store/accounts/accounts.js'
import {
  addTemplateVersion,
  findTemplate,
  findTemplateByName,
  insertTemplate,
  lockTemplate,
  type Template,
  type TemplateChanges,
  updateTemplate,
} from '../store/accounts/templates.js'
import { type Pool, type Queryable, transaction } from '../store/postgres.js'

const MAX_NAME_CHARACTERS = 255

/** Liquid's {{- and -}} remove the blanks beside them, so that these do not separate the link from other text. */
const LINK_BESIDE_TRIM = /-[}%]\}\s+\{SHORT_LINK\}|\{SHORT_LINK\}\s+\{[{%]-/

/**
 * A template is edited by its owner only, in its own mode; every account of the entity reads a shared one, and test tokens read the
 * account's templates.
 */
export interface TemplateDraft {
  name: string
  channel: Channel
  content: string
  variables: TemplateVariable[] | null
  externalId: string | null
  shared: boolean
  metadata: Record<string, unknown>
}

export interface TemplateEdit extends TemplateChanges {
  content?: string
  variables?: TemplateVariable[]
}

export interface TemplateParts {
  pool: Pool
  /** The caller's names of the members of a draft, for refusals. */
  fields: Readonly<Record<'name' | 'content' | 'externalId', string>>
  /** Finds what a content uses, or its fault. It may take seconds. */
  check(
    scope: Scope,
    content: string,
    declared: readonly TemplateVariable[] | null,
  ): Promise<TemplateVariable[] | TemplateFault> | TemplateVariable[] | TemplateFault
  /** Called with the template as it is now, in the transaction that wrote it. */
  onWritten?(db: Queryable, template: Template): Promise<void>
}

export async function createTemplate(parts: TemplateParts, scope: Scope, draft: TemplateDraft, nowMs: number): Promise<Template> {
  requireMembers(parts, draft)
  const id = newId(nowMs)
  const variables = await requireVariables(parts, scope, draft.content, draft.variables)
  const { account, mode } = scope
  requireLinkUse(draft.channel, draft.content)
  return transaction(parts.pool, async db => {
    await lockAccount(db, account)
    await requireFreeName(db, scope, draft, id)
    await insertTemplate(db, { ...draft, id, account, mode, variables })
    return written(parts, db, scope, id)
  })
}

export async function editTemplate(parts: TemplateParts, scope: Scope, id: string, edit: TemplateEdit): Promise<Template> {
  const { pool } = parts
  requireMembers(parts, edit)
  // A faulty content is refused first, whatever the template.
  const checked = edit.content === undefined ? null : await requireVariables(parts, scope, edit.content, edit.variables ?? null)
  const kept = edit.content === undefined && edit.variables !== undefined ? await findOwn(pool, scope, id) : null
  if (kept !== null) await requireVariables(parts, scope, kept, edit.variables!)
  return transaction(pool, async db => {
    if (edit.name !== undefined) await lockAccount(db, scope.account)
    const owner = await lockTemplate(db, scope, id)
    if (owner === null) throw new Refusal('templateMissing')
    if (owner.account !== scope.account) throw new Refusal('templateForbidden')
    if (owner.mode !== scope.mode) throw new Refusal('templateInTestMode')
    const { content, variables, ...changes } = edit
    if (content !== undefined) requireLinkUse(owner.channel, content)
    if (edit.name !== undefined) await requireFreeName(db, scope, { name: edit.name, channel: owner.channel }, id)
    await updateTemplate(db, id, changes)
    if (content !== undefined || variables !== undefined) {
      const current = await requireTemplate(db, scope, id)
      const next = content ?? current.content
      // Checked above, because the transaction must not stay open for as long as a check may take, unless the content has changed since.
      if (content === undefined && next !== kept) await requireVariables(parts, scope, next, variables!)
      const declared = variables ?? keepDeclared(checked!, current.variables)
      const same = next === current.content && JSON.stringify(declared) === JSON.stringify(current.variables)
      if (!same) await addTemplateVersion(db, id, next, declared)
    }
    return written(parts, db, scope, id)
  })
}

function requireMembers({ fields }: TemplateParts, { name, content, externalId, variables }: Partial<TemplateDraft>): void {
  if (name !== undefined && isBlank(name)) refuse('required', fields.name)
  if (content !== undefined && isBlank(content)) refuse('required', fields.content)
  atMost(name, MAX_NAME_CHARACTERS, fields.name)
  atMost(content, MAX_TEMPLATE_CHARACTERS, fields.content)
  atMost(externalId, MAX_NAME_CHARACTERS, fields.externalId)
  const names = (variables ?? []).map(variable => variable.name)
  const repeated = names.find((declared, index) => names.indexOf(declared) !== index)
  if (repeated !== undefined) refuse('repeatedVariable', repeated)
}

async function written({ onWritten }: TemplateParts, db: Queryable, scope: Scope, id: string): Promise<Template> {
  const template = await requireTemplate(db, scope, id)
  await onWritten?.(db, template)
  return template
}

/** A second template of the same name would be sent in place of the first. The caller has locked the account: names are given one by one. */
async function requireFreeName(
  db: Queryable,
  scope: Scope,
  named: { name: string; channel: Channel },
  id: string,
): Promise<void> {
  const taken = await findTemplateByName(db, scope, named)
  if (taken !== null && taken !== id) refuse('templateNameTaken', named.name, taken)
}

function requireLinkUse(channel: Channel, content: string): void {
  const { label, templates } = moduleOf(channel)
  if (!templates.link && content.includes(LINK_PLACEHOLDER)) refuse('templateLink', label)
}

export async function requireTemplate(db: Queryable, scope: Scope, id: string, version: number | null = null): Promise<Template> {
  const template = await findTemplate(db, scope, id, version)
  if (template === null) throw new Refusal('templateMissing')
  return template
}

/** The content of an account's own template; null: there is none, or it is another account's. */
async function findOwn(pool: Pool, scope: Scope, id: string): Promise<string | null> {
  const template = await findTemplate(pool, scope, id)
  return template?.account === scope.account ? template.content : null
}

/** A new content without a new declaration: the declared variables stay as they are, new ones are obligatory. */
function keepDeclared(used: readonly TemplateVariable[], known: readonly TemplateVariable[]): TemplateVariable[] {
  const byName = new Map(known.map(variable => [variable.name, variable]))
  return used.map(variable => byName.get(variable.name) ?? variable)
}

async function requireVariables(
  { check }: TemplateParts,
  scope: Scope,
  content: string,
  declared: TemplateVariable[] | null,
): Promise<TemplateVariable[]> {
  if (!linkStandsAlone(content) || LINK_BESIDE_TRIM.test(content)) refuse('linkNotAlone', 'conteudo')
  const variables = await check(scope, content, declared)
  if ('fault' in variables) throw templateRefusal(variables, 'variaveis')
  return variables
}
