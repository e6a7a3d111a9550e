import type { Channel } from '../../domain/channel.js'
import type { TemplateVersion } from '../../domain/notification.js'
import type { TemplateVariable } from '../../domain/template.js'
import { changesRow, execute, type Queryable, queryRow, run } from '../postgres.js'

/** A template as its readers see it, in one of its versions. */
export interface Template {
  id: string
  account: string
  accountName: string
  externalId: string | null
  name: string
  channel: Channel
  content: string
  variables: TemplateVariable[]
  shared: boolean
  active: boolean
  version: number
  metadata: Record<string, unknown>
  createdAt: Date
  updatedAt: Date
}

interface TemplateRow {
  id: string
  account_id: string
  account_name: string
  external_id: string | null
  name: string
  channel: Channel
  content: string
  variables: TemplateVariable[]
  shared: boolean
  active: boolean
  version: number
  metadata: Record<string, unknown>
  created_at: Date
  updated_at: Date
}

const toTemplate = (row: TemplateRow): Template => ({
  id: row.id,
  account: row.account_id,
  accountName: row.account_name,
  externalId: row.external_id,
  name: row.name,
  channel: row.channel,
  content: row.content,
  variables: row.variables,
  shared: row.shared,
  active: row.active,
  version: row.version,
  metadata: row.metadata,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** $1 is the reading account: its own templates, and those that its entity's other accounts share. */
const READABLE = `
  select t.id, t.account_id, owner.name as account_name, t.external_id, t.name, t.channel, v.content, v.variables, t.shared, t.active,
    v.version, t.metadata, t.created_at, t.updated_at
  from template t
  join account owner on owner.id = t.account_id
  join account me on me.id = $1 and (me.id = t.account_id or (t.shared and me.entity_id = owner.entity_id))`

export async function listTemplates(db: Queryable, account: string, channel: Channel | null): Promise<Template[]> {
  const { rows } = await run<TemplateRow>(
    db,
    `${READABLE} join template_version v on v.template_id = t.id and v.version = t.version
     where $2::text is null or t.channel = $2 order by t.created_at desc, t.id desc`,
    [account, channel],
  )
  return rows.map(toTemplate)
}

/** The template in the given version, or in its current one. */
export async function findTemplate(
  db: Queryable,
  account: string,
  id: string,
  version: number | null = null,
): Promise<Template | null> {
  const { rows } = await run<TemplateRow>(
    db,
    `${READABLE} join template_version v on v.template_id = t.id and v.version = coalesce($3, t.version) where t.id = $2`,
    [account, id, version],
  )
  return rows[0] === undefined ? null : toTemplate(rows[0])
}

/** Locks a template for an edit; null when there is none, whoever asks. */
export interface VersionContent {
  name: string
  externalId: string | null
  content: string
  variables: TemplateVariable[]
  /** As it is now: how a template is used is not part of what it says. */
  metadata: Record<string, unknown>
}

/** What a version says, for whoever holds its number already: the right to use it was checked when the send was accepted. */
export const findVersionContent = (db: Queryable, id: string, version: number): Promise<VersionContent | null> =>
  queryRow(
    db,
    `select t.name, t.external_id as "externalId", v.content, v.variables, t.metadata
     from template t join template_version v on v.template_id = t.id and v.version = $2 where t.id = $1`,
    [id, version],
  )

export async function lockTemplateOwner(db: Queryable, id: string): Promise<string | null> {
  const { rows } = await run<{ account_id: string }>(db, 'select account_id from template where id = $1 for update', [id])
  return rows[0]?.account_id ?? null
}

export interface NewTemplate {
  id: string
  account: string
  externalId: string | null
  name: string
  channel: Channel
  content: string
  variables: TemplateVariable[]
  shared: boolean
  metadata: Record<string, unknown>
}

export const insertTemplate = (db: Queryable, template: NewTemplate): Promise<void> =>
  execute(
    db,
    `with made as (
       insert into template (id, account_id, external_id, name, channel, shared, metadata) values ($1, $2, $3, $4, $5, $6, $7) returning id
     )
     insert into template_version (template_id, version, content, variables) select made.id, 1, $8, $9 from made`,
    [
      template.id,
      template.account,
      template.externalId,
      template.name,
      template.channel,
      template.shared,
      JSON.stringify(template.metadata),
      template.content,
      JSON.stringify(template.variables),
    ],
  )

export interface TemplateChanges {
  name?: string
  externalId?: string | null
  shared?: boolean
  active?: boolean
  metadata?: Record<string, unknown>
}

/** Changes what is given and leaves the rest alone. */
export const updateTemplate = (db: Queryable, id: string, changes: TemplateChanges): Promise<void> =>
  execute(
    db,
    `update template set
       name = coalesce($2, name),
       external_id = case when $3 then $4 else external_id end,
       shared = coalesce($5, shared),
       active = coalesce($6, active),
       metadata = coalesce($7, metadata),
       updated_at = now()
     where id = $1`,
    [
      id,
      changes.name ?? null,
      changes.externalId !== undefined,
      changes.externalId ?? null,
      changes.shared ?? null,
      changes.active ?? null,
      changes.metadata === undefined ? null : JSON.stringify(changes.metadata),
    ],
  )

/** Adds a version and makes it the current one; earlier ones stay as they are. */
export const addTemplateVersion = (
  db: Queryable,
  id: string,
  content: string,
  variables: readonly TemplateVariable[],
): Promise<void> =>
  execute(
    db,
    `with next as (update template set version = version + 1, updated_at = now() where id = $1 returning version)
     insert into template_version (template_id, version, content, variables) select $1, next.version, $2, $3 from next`,
    [id, content, JSON.stringify(variables)],
  )

/**
 * The active template that a request means by a name: public UUID, own external id, own name, then the same among those
 * that the entity shares. Among equals the newest counts.
 */
export async function resolveTemplates(
  db: Queryable,
  account: string,
  named: readonly { channel: Channel; name: string }[],
): Promise<Map<Channel, TemplateVersion>> {
  const { rows } = await run<{ channel: Channel; id: string; version: number }>(db, {
    name: 'resolve-templates',
    text: `select distinct on (w.channel) w.channel, t.id, t.version
           from unnest($2::text[], $3::text[]) as w(channel, name)
           join account me on me.id = $1
           join account owner on owner.entity_id = me.entity_id
           join template t on t.account_id = owner.id and t.channel = w.channel
           where t.active and (t.account_id = $1 or t.shared)
             and (t.id::text = lower(w.name) or t.external_id = w.name or t.name = w.name)
           order by w.channel, t.id::text = lower(w.name) desc, t.account_id = $1 desc, t.external_id is not distinct from w.name desc, t.id desc`,
    values: [account, named.map(item => item.channel), named.map(item => item.name)],
  })
  return new Map(rows.map(row => [row.channel, { id: row.id, version: row.version }]))
}

/** Whether a name means only templates that were switched off, among those that the account could use. */
export const isRetiredTemplate = (db: Queryable, account: string, channel: Channel, name: string): Promise<boolean> =>
  changesRow(
    db,
    `select from template t join account owner on owner.id = t.account_id join account me on me.id = $1
     where (t.account_id = me.id or (t.shared and owner.entity_id = me.entity_id)) and t.channel = $2 and not t.active
       and (t.id::text = lower($3) or t.external_id = $3 or t.name = $3) limit 1`,
    [account, channel, name],
  )
