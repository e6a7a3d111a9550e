import type { Channel } from '../../domain/channel.js'
import { makeReference } from '../../domain/delivery/reference.js'
import { newId } from '../../domain/id.js'
import type { SendRequest, TemplateVersion } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import { findRules } from '../../store/accounts/accounts.js'
import { findTemplate } from '../../store/accounts/templates.js'
import type { Claim, ClaimedTemplate } from '../../store/delivery/claims.js'
import type { Pool } from '../../store/postgres.js'

/** The deliveries that a send would become, as a worker would claim them. Nothing is stored. */
export async function draftClaims(
  pool: Pool,
  { account, mode }: Scope,
  request: SendRequest,
  templates: ReadonlyMap<Channel, TemplateVersion>,
  now: Date,
): Promise<Claim[]> {
  const scope = { account, mode }
  const rules = await findRules(pool, account)
  if (rules === null) throw new Error('the account is gone')
  const notification = newId(now.getTime())
  return Promise.all(
    request.deliveries.map(async ({ channel, recipient, request: part }) => ({
      ...scope,
      notification,
      channel,
      owner: notification,
      accountName: rules.name,
      settings: rules.settings,
      ordinal: 1,
      attempt: 1,
      failovers: 0,
      tried: [],
      reference: makeReference({ notification, channel, ordinal: 1 }),
      recipient,
      recipientName: request.recipientName,
      subject: request.subject,
      content: request.content,
      contentSize: request.content.length,
      protected: request.validation !== null,
      unknownCount: 0,
      bound: false,
      suppressed: false,
      request: part,
      template: await claimTemplate(pool, scope, templates.get(channel)),
      attachments: [],
      acceptedAt: now,
    })),
  )
}

async function claimTemplate(pool: Pool, scope: Scope, named: TemplateVersion | undefined): Promise<ClaimedTemplate | null> {
  const found = named && (await findTemplate(pool, scope, named.id, named.version))
  if (named === undefined || found == null) return null
  return { ...named, editedAt: found.updatedAt.toISOString() }
}
