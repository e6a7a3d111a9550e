import type { Channel } from '../domain/channel.js'
import { Refusal, refuse } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { linkStandsAlone } from '../domain/link.js'
import type { Scope } from '../domain/scope.js'
import { checkTemplate, type TemplateVariable, templateRefusal } from '../domain/template.js'
import {
  addTemplateVersion,
  findTemplate,
  insertTemplate,
  lockTemplate,
  type Template,
  type TemplateChanges,
  updateTemplate,
} from '../store/accounts/templates.js'
import { type Pool, type Queryable, transaction } from '../store/postgres.js'

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

export async function createTemplate(pool: Pool, scope: Scope, draft: TemplateDraft, nowMs: number): Promise<Template> {
  const id = newId(nowMs)
  const { account, mode } = scope
  await insertTemplate(pool, { ...draft, id, account, mode, variables: requireVariables(draft.content, draft.variables) })
  return requireTemplate(pool, scope, id)
}

export async function editTemplate(pool: Pool, scope: Scope, id: string, edit: TemplateEdit): Promise<Template> {
  // A faulty content is refused first, whatever the template.
  if (edit.content !== undefined) requireVariables(edit.content, edit.variables ?? null)
  return transaction(pool, async db => {
    const owner = await lockTemplate(db, scope, id)
    if (owner === null) throw new Refusal('templateMissing')
    if (owner.account !== scope.account) throw new Refusal('templateForbidden')
    if (owner.mode !== scope.mode) throw new Refusal('templateInTestMode')
    const { content, variables, ...changes } = edit
    await updateTemplate(db, id, changes)
    if (content !== undefined || variables !== undefined) {
      const current = await requireTemplate(db, scope, id)
      const next = content ?? current.content
      const declared = requireVariables(next, variables ?? keptVariables(next, current.variables))
      const same = next === current.content && JSON.stringify(declared) === JSON.stringify(current.variables)
      if (!same) await addTemplateVersion(db, id, next, declared)
    }
    return requireTemplate(db, scope, id)
  })
}

export async function requireTemplate(db: Queryable, scope: Scope, id: string, version: number | null = null): Promise<Template> {
  const template = await findTemplate(db, scope, id, version)
  if (template === null) throw new Refusal('templateMissing')
  return template
}

/** A new content without a new declaration: the declared variables stay as they are, new ones are obligatory. */
function keptVariables(content: string, known: readonly TemplateVariable[]): TemplateVariable[] {
  return requireVariables(content, null).map(variable => known.find(({ name }) => name === variable.name) ?? variable)
}

function requireVariables(content: string, declared: TemplateVariable[] | null): TemplateVariable[] {
  if (!linkStandsAlone(content) || LINK_BESIDE_TRIM.test(content)) refuse('linkNotAlone', 'conteudo')
  const variables = checkTemplate(content, declared)
  if ('fault' in variables) throw templateRefusal(variables)
  return variables
}
