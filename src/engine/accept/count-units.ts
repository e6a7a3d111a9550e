import type { ChannelPreview } from '../../channels/preview.js'
import { SendError } from '../../channels/provider.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import { overloaded } from '../../domain/errors.js'
import type { SendRequest, TemplateVersion } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { Pool } from '../../store/postgres.js'
import { draftClaims } from './draft-claims.js'

/** How many units of each channel a send is charged for. */
export type CountUnits = (
  scope: Scope,
  request: SendRequest,
  templates: ReadonlyMap<Channel, TemplateVersion>,
) => Promise<{ channel: Channel; units: number }[]>

interface CountParts {
  pool: Pool
  clock: Clock
  previews: ReadonlyMap<Channel, ChannelPreview>
}

/** Makes the messages as their deliveries will, because only the finished text and sheet tell their parts and pages. */
export const unitCounter =
  ({ pool, clock, previews }: CountParts): CountUnits =>
  async (scope, request, templates) => {
    const counted = request.deliveries.some(({ channel }) => previews.get(channel)?.countUnits !== undefined)
    if (!counted) return request.deliveries.map(({ channel }) => ({ channel, units: 1 }))
    const claims = await draftClaims(pool, scope, request, templates, new Date(clock()))
    const countOf = async (claim: (typeof claims)[number]): Promise<{ channel: Channel; units: number }> => ({
      channel: claim.channel,
      units: (await previews.get(claim.channel)?.countUnits?.(claim).catch(postponed)) ?? 1,
    })
    return Promise.all(claims.map(countOf))
  }

/** Another template of the account takes too long: the sender may try again. */
function postponed(error: unknown): never {
  throw error instanceof SendError ? overloaded() : error
}
