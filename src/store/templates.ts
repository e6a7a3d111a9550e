import type { Channel, TemplateVersion } from '../domain/notification.js'
import { type Queryable, run } from './postgres.js'

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

export interface NewTemplate {
  id: string
  account: string
  externalId: string | null
  name: string
  channel: Channel
  content: string
  variables: { name: string; required: boolean }[]
}

export async function insertTemplate(db: Queryable, template: NewTemplate): Promise<void> {
  await run(
    db,
    `with made as (insert into template (id, account_id, external_id, name, channel) values ($1, $2, $3, $4, $5) returning id)
     insert into template_version (template_id, version, content, variables) select made.id, 1, $6, $7 from made`,
    [
      template.id,
      template.account,
      template.externalId,
      template.name,
      template.channel,
      template.content,
      JSON.stringify(template.variables),
    ],
  )
}
