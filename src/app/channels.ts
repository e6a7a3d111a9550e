import type { CallbackReaders, ChannelRuntime, DocumentUrl, RuntimeContext } from '../channels/channel.js'
import { channelModules } from '../channels/registry.js'
import type { Keys } from '../domain/keys.js'
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
  const callbacks: CallbackReaders[] = []
  const documents: ServedDocument[] = []
  for (const module of channelModules) {
    const runtime: ChannelRuntime = await module.runtime()
    const context = { ...parts, config: config.channels[module.channel]!, publicUrl: config.publicUrl }
    const readers = runtime.callbacks?.({ ...context, simulator: config.simulator })
    if (readers !== undefined) callbacks.push(readers)
    const sources = runtime.documents?.(context) ?? {}
    for (const route of module.documents ?? [])
      documents.push({ route, key: parts.keys.derive(route.name), reader: sources[route.name]! })
  }
  return {
    real: callbacks.flatMap(({ real }) => real),
    simulated: callbacks.flatMap(({ simulated }) => simulated),
    documents,
    close: async (): Promise<void> => {
      await Promise.all(documents.map(({ reader }) => reader.close?.()))
    },
  }
}
