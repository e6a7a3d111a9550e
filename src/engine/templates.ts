import type { Channel } from '../domain/channel.js'
import { Refusal, refuse } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { linkStandsAlone } from '../domain/link.js'
import { checkTemplate, type TemplateVariable, templateRefusal } from '../domain/template.js'
import {
  addTemplateVersion,
  findTemplate,
  insertTemplate,
  lockTemplateOwner,
  type Template,
  type TemplateChanges,
  updateTemplate,
} from '../store/accounts/templates.js'
import { type Pool, type Queryable, transaction } from '../store/postgres.js'

/** Liquid's {{- and -}} remove the blanks beside them, so that these do not separate the link from other text. */
const LINK_BESIDE_TRIM = /-[}%]\}\s+\{SHORT_LINK\}|\{SHORT_LINK\}\s+\{[{%]-/

/** A template is edited by its owner only; every account of the entity reads a shared one. */
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

export async function createTemplate(pool: Pool, account: string, draft: TemplateDraft, nowMs: number): Promise<Template> {
  const id = newId(nowMs)
  await insertTemplate(pool, { ...draft, id, account, variables: requireVariables(draft.content, draft.variables) })
  return requireTemplate(pool, account, id)
}

export async function editTemplate(pool: Pool, account: string, id: string, edit: TemplateEdit): Promise<Template> {
  // A faulty content is refused first, whatever the template.
  if (edit.content !== undefined) requireVariables(edit.content, edit.variables ?? null)
  return transaction(pool, async db => {
    const owner = await lockTemplateOwner(db, id)
    if (owner === null) throw new Refusal('templateMissing')
    if (owner !== account) throw new Refusal('templateForbidden')
    const { content, variables, ...changes } = edit
    await updateTemplate(db, id, changes)
    if (content !== undefined || variables !== undefined) {
      const current = await requireTemplate(db, account, id)
      const next = content ?? current.content
      const declared = requireVariables(next, variables ?? keptVariables(next, current.variables))
      const same = next === current.content && JSON.stringify(declared) === JSON.stringify(current.variables)
      if (!same) await addTemplateVersion(db, id, next, declared)
    }
    return requireTemplate(db, account, id)
  })
}

export async function requireTemplate(
  db: Queryable,
  account: string,
  id: string,
  version: number | null = null,
): Promise<Template> {
  const template = await findTemplate(db, account, id, version)
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
