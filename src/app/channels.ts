import type { ChannelModule, ChannelRuntime, DocumentUrl, ProviderModule, RuntimeContext } from '../channels/channel.js'
import type { Callback } from '../channels/provider.js'
import { channelModules } from '../channels/registry.js'
import { type Keys, simulatorSecret as secretOf } from '../domain/keys.js'
import { makeLinkCode } from '../domain/link.js'
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
  const real: Callback[] = []
  const simulated: Callback[] = []
  const documents: ServedDocument[] = []
  for (const module of channelModules) {
    const runtime: ChannelRuntime = await module.runtime()
    const own = config.channels[module.channel]!
    const context = { ...parts, config: own, publicUrl: config.publicUrl }
    const callbackParts = runtime.callbackParts?.(context) ?? {}
    for (const [name, { protocols, load }] of Object.entries(module.providers)) {
      const { callback } = await load()
      if (callback === undefined) continue
      const carriers = own.carriers.filter(({ protocol }) => protocols.includes(protocol))
      if (carriers.length > 0) real.push(callback({ carriers }, callbackParts))
      const simulatorSecret = secretOf(parts.keys.simulator, name)
      if (config.simulator) simulated.push(callback({ simulatorSecret }, callbackParts))
    }
    const sources = runtime.documents?.(context) ?? {}
    for (const route of module.documents ?? [])
      documents.push({ route, key: parts.keys.derive(route.name), reader: sources[route.name]! })
  }
  return {
    real,
    simulated,
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
