import type { Channel } from '../../domain/channel.js'
import type { TemplateVersion } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { TemplateVariable } from '../../domain/send/template.js'
import { execute, filterBy, matchesRow, type Queryable, queryRow, queryRows, queryValue, run } from '../postgres.js'

/**
 * A template as its readers see it, in one of its versions. Templates of the mode `live` are part of the account's configuration, which
 * test tokens read and use too; those of the mode `test` exist for test tokens alone.
 */
export interface Template extends Scope {
  id: string
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

/** In a query where $2 is the mode of the reader. */
const IN_MODE = "t.mode in ('live', $2)"

/** $1 and $2 are the reading scope: the account's own templates, and those that its entity's other accounts share. */
const READABLE = `
  select t.id, t.account_id as account, t.mode, owner.name as "accountName", t.external_id as "externalId", t.name, t.channel, v.content, v.variables,
    t.shared, t.active, v.version, t.metadata, t.created_at as "createdAt", t.updated_at as "updatedAt"
  from template t
  join account owner on owner.id = t.account_id
  join account me on me.id = $1 and ${IN_MODE} and (me.id = t.account_id or (t.shared and me.entity_id = owner.entity_id))`

export interface TemplatePage {
  /** The last template of the page before; null: the first page. */
  after: string | null
  limit: number
  /** A page ends with the first content that goes beyond. */
  bytes: number
}

/** Newest first. `next`: the `after` of the next page; null: this is the last. */
export async function listTemplates(
  db: Queryable,
  { account, mode }: Scope,
  channel: Channel | null,
  { after, limit, bytes }: TemplatePage,
): Promise<{ templates: Template[]; next: string | null }> {
  const rows = await queryRows<Template & { following: boolean }>(
    db,
    `with found as (
       ${READABLE} join template_version v on v.template_id = t.id and v.version = t.version
       where ${filterBy('$3::text', channel, 't.channel = $3')}
         and ${filterBy('$4::uuid', after, '(t.created_at, t.id) < (select last.created_at, last.id from template last where last.id = $4)')}
       order by t.created_at desc, t.id desc limit $5 + 1
     ), measured as (
       select found.*, row_number() over newest_first as place, lead(id) over newest_first is not null as following,
         sum(octet_length(content)) over newest_first - octet_length(content) as "bytesBefore"
       from found window newest_first as (order by "createdAt" desc, id desc)
     )
     select id, account, mode, "accountName", "externalId", name, channel, content, variables, shared, active, version, metadata, "createdAt",
       "updatedAt", following
     from measured where place <= $5 and "bytesBefore" <= $6 order by place`,
    [account, mode, channel, after, limit, bytes],
  )
  return {
    templates: rows.map(({ following: _, ...template }) => template),
    next: rows.at(-1)?.following ? rows.at(-1)!.id : null,
  }
}

/** The template in the given version, or in its current one. */
export const findTemplate = (
  db: Queryable,
  { account, mode }: Scope,
  id: string,
  version: number | null = null,
): Promise<Template | null> =>
  queryRow(
    db,
    `${READABLE} join template_version v on v.template_id = t.id and v.version = coalesce($4, t.version) where t.id = $3`,
    [account, mode, id, version],
  )

/** When each version was written, newest first. Checks no rights. */
export const listVersions = (db: Queryable, id: string): Promise<{ version: number; createdAt: Date }[]> =>
  queryRows(
    db,
    'select version, created_at as "createdAt" from template_version where template_id = $1 order by version desc limit 200',
    [id],
  )

/** One version of a template. Its name, external id and metadata are the current ones, because they have no versions. */
export type VersionContent = Pick<Template, 'name' | 'externalId' | 'content' | 'variables' | 'metadata'>

/** Checks no rights: the right to use the template was checked when the send was accepted. */
export const findVersionContent = (db: Queryable, id: string, version: number): Promise<VersionContent | null> =>
  queryRow(
    db,
    `select t.name, t.external_id as "externalId", v.content, v.variables, t.metadata
     from template t join template_version v on v.template_id = t.id and v.version = $2 where t.id = $1`,
    [id, version],
  )

/** The scope's own template of this name. */
export const findTemplateByName = (
  db: Queryable,
  { account, mode }: Scope,
  { name, channel }: { name: string; channel: Channel },
): Promise<string | null> =>
  queryValue(db, 'select id from template where account_id = $1 and mode = $2 and channel = $3 and name = $4', [
    account,
    mode,
    channel,
    name,
  ])

/** Locks a template for an edit and returns its scope; null: there is no such template, or none that this mode knows. */
export const lockTemplate = (db: Queryable, { mode }: Scope, id: string): Promise<(Scope & { channel: Channel }) | null> =>
  queryRow(db, `select t.account_id as account, t.mode, t.channel from template t where t.id = $1 and ${IN_MODE} for update`, [
    id,
    mode,
  ])

export type NewTemplate = Omit<Template, 'accountName' | 'active' | 'version' | 'createdAt' | 'updatedAt'>

export function insertTemplate(db: Queryable, template: NewTemplate): Promise<void> {
  const { id, account, mode, externalId, name, channel, shared, metadata, content, variables } = template
  return execute(
    db,
    `with made as (
       insert into template (id, account_id, mode, external_id, name, channel, shared, metadata)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning id
     )
     insert into template_version (template_id, version, content, variables) select made.id, 1, $9, $10 from made`,
    [id, account, mode, externalId, name, channel, shared, JSON.stringify(metadata), content, JSON.stringify(variables)],
  )
}

/** Only the given members change. */
export type TemplateChanges = Partial<Pick<Template, 'name' | 'externalId' | 'shared' | 'active' | 'metadata'>>

export const updateTemplate = (db: Queryable, id: string, changes: TemplateChanges): Promise<void> =>
  execute(
    db,
    `update template t set name = coalesce(c.name, t.name), shared = coalesce(c.shared, t.shared), active = coalesce(c.active, t.active),
       external_id = case when $2::jsonb ? 'externalId' then c."externalId" else t.external_id end,
       metadata = coalesce(c.metadata, t.metadata), updated_at = now()
     from jsonb_to_record($2) as c(name text, "externalId" text, shared boolean, active boolean, metadata jsonb)
     where t.id = $1`,
    [id, JSON.stringify(changes)],
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
 * The template that a request means by a name: public UUID, own external id, own name, then the same among those that the entity shares.
 * A test send prefers the templates of its own mode. Among equals (the same external id, or the same name shared by two accounts) the
 * newest active one counts. An inactive template keeps its name: the name never means the text of another one in its place.
 */
export async function resolveTemplates(
  db: Queryable,
  { account, mode }: Scope,
  named: readonly { channel: Channel; name: string }[],
): Promise<Map<Channel, TemplateVersion>> {
  const { rows } = await run<{ channel: Channel; id: string; version: number; active: boolean }>(db, {
    name: 'resolve-templates',
    text: `select distinct on (w.channel) w.channel, t.id, t.version, t.active
           from unnest($3::text[], $4::text[]) as w(channel, name)
           join account me on me.id = $1
           join account owner on owner.entity_id = me.entity_id
           join template t on t.account_id = owner.id and t.channel = w.channel
           where ${IN_MODE} and (t.account_id = $1 or t.shared)
             and (t.id::text = lower(w.name) or t.external_id = w.name or t.name = w.name)
           order by w.channel, t.id::text = lower(w.name) desc, t.account_id = $1 desc, t.mode desc, t.external_id is not distinct from w.name desc,
             t.active desc, t.id desc`,
    values: [account, mode, named.map(item => item.channel), named.map(item => item.name)],
  })
  return new Map(rows.filter(({ active }) => active).map(({ channel, id, version }) => [channel, { id, version }]))
}

/** Whether a name that means no active template is that of one that was switched off, among those that the scope could use. */
export const isRetiredTemplate = (db: Queryable, { account, mode }: Scope, channel: Channel, name: string): Promise<boolean> =>
  matchesRow(
    db,
    `select from template t join account owner on owner.id = t.account_id join account me on me.id = $1
     where (t.account_id = me.id or (t.shared and owner.entity_id = me.entity_id)) and ${IN_MODE} and t.channel = $3 and not t.active
       and (t.id::text = lower($4) or t.external_id = $4 or t.name = $4) limit 1`,
    [account, mode, channel, name],
  )
