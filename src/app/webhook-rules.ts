import type { ChannelContract, DocumentUrl } from '../channels/channel-contract.js'
import { isLoopbackHost, type TargetRules } from '../domain/access/target-address.js'
import type { Channel } from '../domain/channel.js'
import type { WebhookFormat } from '../webhooks/payload.js'
import type { Config } from './config.js'

/** The status record in a webhook is the one that the lookup of its channel returns. */
export const webhookFormat =
  (contracts: ReadonlyMap<Channel, ChannelContract>, documentUrl: DocumentUrl): WebhookFormat =>
  status =>
    contracts.get(status.channel)!.status.from(status, documentUrl)

/**
 * Loopback addresses are allowed on a developer's own machine only, which nobody else reaches and no real message leaves. Anywhere
 * else an account could read, through the answers to its webhooks, pages that other programs show to their own machine alone.
 */
export const targetRules = ({ webhooks, simulator, hasCarriers, host, publicUrl }: Config): TargetRules => ({
  allowed: webhooks.allowedRanges,
  loopback: simulator && !hasCarriers && isLoopbackHost(host) && isLoopbackHost(new URL(publicUrl).hostname),
})
