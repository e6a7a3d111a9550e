import { identifyCarrier, modesOf, scopedProvider } from '../channels/carrier-name.js'
import type {
  CallbackSenders,
  ChannelModule,
  ChannelRuntime,
  DocumentUrl,
  ProviderModule,
  RuntimeContext,
} from '../channels/channel.js'
import { channelModules } from '../channels/registry.js'
import { type Keys, simulatorSecret as secretOf } from '../domain/keys.js'
import { makeLinkCode } from '../domain/link.js'
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
export async function openChannels(config: Config, parts: Omit<RuntimeContext, 'config' | 'publicUrl'>) {
  const callbacks: ServedCallback[] = []
  const documents: ServedDocument[] = []
  for (const module of channelModules) {
    const runtime: ChannelRuntime = await module.runtime()
    const own = config.channels[module.channel]!
    const context = { ...parts, config: own, publicUrl: config.publicUrl }
    const callbackParts = runtime.callbackParts?.(context) ?? {}
    for (const [name, { protocols, load }] of Object.entries(module.providers)) {
      const { callback, identify } = await load()
      if (callback === undefined) continue
      const serve = (senders: CallbackSenders, isSimulated: boolean): void => {
        const { modes } = senders
        callbacks.push({
          path: `/callbacks/${scopedProvider(name, isSimulated)}`,
          modes,
          callback: callback(senders, callbackParts),
        })
      }
      const carriers = own.carriers
        .filter(({ protocol }) => protocols.includes(protocol))
        .map(url => ({ url, identity: identifyCarrier({ name, ...(identify && { identify }) }, url) }))
      if (carriers.length > 0) serve({ carriers, modes: modesOf(false, config.hasCarriers) }, false)
      const simulatorSecret = secretOf(parts.keys.simulator, name)
      const simulated = { simulatorSecret, identity: scopedProvider(name, true), modes: modesOf(true, config.hasCarriers) }
      if (config.simulator) serve(simulated, true)
    }
    const sources = runtime.documents?.(context) ?? {}
    for (const route of module.documents ?? [])
      documents.push({ route, key: parts.keys.derive(route.name), reader: sources[route.name]! })
  }
  return {
    callbacks,
    documents,
    close: async (): Promise<void> => {
      await Promise.all(documents.map(({ reader }) => reader.close?.()))
    },
  }
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
