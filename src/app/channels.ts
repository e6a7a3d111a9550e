import { identifyCarrier, modesOf, simulatedName } from '../channels/carrier-name.js'
import type { ChannelModule } from '../channels/channel.js'
import type { DocumentUrl } from '../channels/channel-contract.js'
import type { ChannelRuntime, DocumentContext, RuntimeContext } from '../channels/channel-runtime.js'
import { type ChannelPreview, SAMPLE_CODE } from '../channels/preview.js'
import type { CallbackSenders, ProviderModule } from '../channels/provider-module.js'
import { channelModules } from '../channels/registry.js'
import { type Keys, simulatorSecret as secretOf } from '../domain/access/keys.js'
import type { Channel } from '../domain/channel.js'
import { makeLinkCode } from '../domain/recipient/link.js'
import type { ServedCallback } from '../http/callbacks.js'
import type { ServedDocument } from '../http/documents.js'
import type { Config } from './config.js'

/** Makes the addresses of channels' documents. They start with the public URL, which may be known only once the server listens. */
export const documentUrls = (publicUrl: () => string, keys: Keys): DocumentUrl => {
  const codes = new Map(
    channelModules.flatMap(({ linkCode, documents = [] }) =>
      documents.map(({ name }) => [name, { key: keys.derive(name), linkCode }] as const),
    ),
  )
  return ({ name, path, extension }, notification) => {
    const { key, linkCode } = codes.get(name)!
    return `${publicUrl()}${path}/${makeLinkCode(key, notification, linkCode)}.${extension}`
  }
}

/** The parts of the channels that run in the api: the readers of callbacks and of documents. */
export async function openChannels(config: Config, parts: Omit<DocumentContext, 'config' | 'publicUrl'>) {
  const callbacks: ServedCallback[] = []
  const documents: ServedDocument[] = []
  const previews = await openPreviews(config, parts)
  for (const module of channelModules) {
    const runtime: ChannelRuntime = await module.runtime()
    const own = config.channels[module.channel]!
    const context = { ...parts, config: own, publicUrl: config.publicUrl }
    const callbackParts = runtime.callbackParts?.(context) ?? {}
    for (const [name, { protocols, signsCallbacks = false, load }] of Object.entries(module.providers)) {
      const { callback, identify } = await load()
      if (callback === undefined) continue
      const serve = (senders: CallbackSenders, isSimulated: boolean): void => {
        const { modes } = senders
        callbacks.push({
          path: `/callbacks/${isSimulated ? simulatedName(name) : name}`,
          modes,
          signed: signsCallbacks,
          callback: callback(senders, callbackParts),
        })
      }
      const carriers = own.carriers
        .filter(({ protocol }) => protocols.includes(protocol))
        .map(url => ({ url, identity: identifyCarrier({ name, ...(identify && { identify }) }, url) }))
      if (carriers.length > 0) serve({ carriers, modes: modesOf(false, config.hasCarriers) }, false)
      const simulatorSecret = secretOf(parts.keys.simulator, name)
      const simulated = { simulatorSecret, identity: simulatedName(name), modes: modesOf(true, config.hasCarriers) }
      if (config.simulator) serve(simulated, true)
    }
    const sources = runtime.documents?.(context) ?? {}
    for (const route of module.documents ?? [])
      documents.push({ route, key: parts.keys.derive(route.name), reader: sources[route.name]! })
  }
  return {
    callbacks,
    documents,
    previews,
    close: async (): Promise<void> => {
      await Promise.all([
        ...documents.map(({ reader }) => reader.close?.()),
        ...[...previews.values()].map(preview => preview.close?.()),
      ])
    },
  }
}

/** Makes messages as deliveries make them, by channel. Whoever opens them closes them. */
export async function openPreviews(
  config: Config,
  parts: Omit<RuntimeContext, 'config' | 'publicUrl'>,
): Promise<Map<Channel, ChannelPreview>> {
  const previews = new Map<Channel, ChannelPreview>()
  for (const module of channelModules) {
    const context = { ...parts, config: config.channels[module.channel]!, publicUrl: config.publicUrl }
    const runtime: ChannelRuntime = await module.runtime()
    previews.set(module.channel, runtime.openPreview({ ...context, shortLink: async () => SAMPLE_CODE }))
  }
  return previews
}

/** The providers of a channel, found by a carrier's URL. */
export async function loadProviders({ providers }: ChannelModule): Promise<(url: URL) => ProviderModule & { name: string }> {
  const byProtocol = new Map<string, ProviderModule & { name: string }>()
  for (const [name, { protocols, load }] of Object.entries(providers)) {
    const loaded = { name, ...(await load()) }
    for (const protocol of protocols) byProtocol.set(protocol, loaded)
  }
  return url => byProtocol.get(url.protocol)!
}
