import type { Channel } from '../domain/channel.js'
import { Refusal } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { type TemplateFault, type TemplateVariable, templateRefusal } from '../domain/template.js'
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

export interface TemplateParts {
  pool: Pool
  /** Finds what a content uses, or its fault. It may take seconds. */
  check(
    account: string,
    content: string,
    declared: readonly TemplateVariable[] | null,
  ): Promise<TemplateVariable[] | TemplateFault> | TemplateVariable[] | TemplateFault
}

export async function createTemplate(
  parts: TemplateParts,
  account: string,
  draft: TemplateDraft,
  nowMs: number,
): Promise<Template> {
  const id = newId(nowMs)
  const variables = await requireVariables(parts, account, draft.content, draft.variables)
  await insertTemplate(parts.pool, { ...draft, id, account, variables })
  return requireTemplate(parts.pool, account, id)
}

export async function editTemplate(parts: TemplateParts, account: string, id: string, edit: TemplateEdit): Promise<Template> {
  const { pool } = parts
  // A faulty content is refused first, whatever the template.
  const checked = edit.content === undefined ? null : await requireVariables(parts, account, edit.content, edit.variables ?? null)
  const kept = edit.content === undefined && edit.variables !== undefined ? await findOwn(pool, account, id) : null
  if (kept !== null) await requireVariables(parts, account, kept, edit.variables!)
  return transaction(pool, async db => {
    const owner = await lockTemplateOwner(db, id)
    if (owner === null) throw new Refusal('templateMissing')
    if (owner !== account) throw new Refusal('templateForbidden')
    const { content, variables, ...changes } = edit
    await updateTemplate(db, id, changes)
    if (content !== undefined || variables !== undefined) {
      const current = await requireTemplate(db, account, id)
      const next = content ?? current.content
      // Checked above, because the transaction must not stay open for as long as a check may take, unless the content has changed since.
      if (content === undefined && next !== kept) await requireVariables(parts, account, next, variables!)
      const declared = variables ?? keepDeclared(checked!, current.variables)
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

/** The content of an account's own template; null: there is none, or it is another account's. */
async function findOwn(pool: Pool, account: string, id: string): Promise<string | null> {
  const template = await findTemplate(pool, account, id)
  return template?.account === account ? template.content : null
}

/** A new content without a new declaration: the declared variables stay as they are, new ones are obligatory. */
function keepDeclared(used: readonly TemplateVariable[], known: readonly TemplateVariable[]): TemplateVariable[] {
  const byName = new Map(known.map(variable => [variable.name, variable]))
  return used.map(variable => byName.get(variable.name) ?? variable)
}

async function requireVariables(
  { check }: TemplateParts,
  account: string,
  content: string,
  declared: TemplateVariable[] | null,
): Promise<TemplateVariable[]> {
  const variables = await check(account, content, declared)
  if ('fault' in variables) throw templateRefusal(variables)
  return variables
}
