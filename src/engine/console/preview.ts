import type { Refused } from '../../channels/channel-runtime.js'
import type { ChannelPreview, MessagePreview } from '../../channels/preview.js'
import type { Channel } from '../../domain/channel.js'
import { namedTemplates, type SendRequest } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import { resolveTemplates } from '../../store/accounts/templates.js'
import type { Pool } from '../../store/postgres.js'
import { draftClaims } from '../accept/draft-claims.js'

export interface PreviewParts {
  pool: Pool
  previews: ReadonlyMap<Channel, ChannelPreview>
}

export interface ShownDelivery {
  channel: Channel
  shown: MessagePreview | Refused
}

/** The messages that a send would become, made as its deliveries make them. Nothing is stored. */
export async function previewSend(
  { pool, previews }: PreviewParts,
  scope: Scope,
  request: SendRequest,
  now: Date,
): Promise<ShownDelivery[]> {
  const named = namedTemplates(request)
  const templates = named.length === 0 ? new Map() : await resolveTemplates(pool, scope, named)
  const claims = await draftClaims(pool, scope, request, templates, now)
  return Promise.all(
    claims.map(async claim => ({ channel: claim.channel, shown: await previews.get(claim.channel)!.show(claim) })),
  )
}
