import { identifyCarrier } from '../../channels/carrier-name.js'
import type { ChannelRuntime, RuntimeContext } from '../../channels/channel-runtime.js'
import { channelModules } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { CarrierOptions, ConfiguredCarrier } from '../../http/console/operation/carriers.js'
import { readRate } from '../carrier-rate.js'
import { loadProviders } from '../channels.js'
import type { Config } from '../config.js'

type Parts = Omit<RuntimeContext, 'config' | 'publicUrl'> & { options: Readonly<Record<Channel, object>> }

/** The carriers of the settings as the console shows them, and what can be asked about them. */
export async function openConsoleCarriers(config: Config, { options, ...parts }: Parts): Promise<CarrierOptions['carriers']> {
  const configured: ConfiguredCarrier[] = []
  for (const module of channelModules) {
    const { channel } = module
    const { carriers } = config.channels[channel]!
    if (carriers.length === 0) continue
    const providerFor = await loadProviders(module)
    for (const url of carriers) {
      const provider = providerFor(url)
      const { checkCredentials } = provider
      configured.push({
        channel,
        identity: identifyCarrier(provider, url),
        host: url.host,
        perSecond: readRate(url, channel),
        concurrency: provider.concurrency(url),
        check: checkCredentials === undefined ? null : signal => checkCredentials(url, signal),
      })
    }
  }
  const checkSetup = async () => {
    const served = channelModules.filter(({ channel }) => config.channels[channel]!.carriers.length > 0)
    const found = await Promise.all(
      served.map(async module => {
        const { channel } = module
        const runtime: ChannelRuntime = await module.runtime()
        const context = { ...parts, config: config.channels[channel]!, publicUrl: config.publicUrl }
        const checks = (await runtime.checkSetup?.(context, options[channel] ?? {})) ?? []
        return checks.map(check => ({ ...check, channel }))
      }),
    )
    return found.flat()
  }
  return { configured, checkSetup: configured.length === 0 ? null : checkSetup }
}
