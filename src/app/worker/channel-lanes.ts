import { identifyCarrier } from '../../channels/carrier-name.js'
import type { ChannelModule } from '../../channels/channel.js'
import type { ChannelConfig } from '../../channels/channel-config.js'
import type { ChannelDelivery, DeliveryContext } from '../../channels/channel-runtime.js'
import { channelModules } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Lane } from '../../engine/deliver/lane.js'
import { loadProviders } from '../channels.js'
import type { Config } from '../config.js'
import { type ChannelWiring, type LaneParts, openLanes } from './lanes.js'

export interface OpenedChannel {
  delivery: ChannelDelivery<unknown>
  lanes: Lane<unknown>[][]
}

/** Opens every channel with its lanes. `options`: replacements for parts of channels, in tests and benchmarks. */
export async function openChannelLanes(
  config: Config,
  context: Omit<DeliveryContext<ChannelConfig>, 'config' | 'options'>,
  parts: LaneParts,
  options: Readonly<Record<Channel, object>>,
): Promise<OpenedChannel[]> {
  const opened: OpenedChannel[] = []
  for (const module of channelModules) {
    const { channel } = module
    const own = { config: config.channels[channel]!, options: options[channel] ?? {} }
    const delivery = await (await module.runtime()).openDelivery({ ...context, ...own })
    const lanes = await openLanes(await wiringOf(module, delivery, own.config.carriers), parts)
    opened.push({ delivery, lanes })
    if (!lanes.flat().some(lane => lane.mode === 'live'))
      context.warn({ channel }, 'a channel has no carrier: what is sent by it waits in the queue until one is set')
  }
  return opened
}

async function wiringOf(
  module: ChannelModule,
  delivery: ChannelDelivery<unknown>,
  carriers: readonly URL[],
): Promise<ChannelWiring<unknown>> {
  const { channel, sendsContent = false } = module
  const providerFor = await loadProviders(module)
  return {
    ...delivery,
    channel,
    carriers,
    sendsContent,
    concurrency: url => providerFor(url).concurrency(url),
    identify: url => identifyCarrier(providerFor(url), url),
    provider: (url, world) => providerFor(url).create(delivery.partsOf(providerFor(url).name, world)),
  }
}
