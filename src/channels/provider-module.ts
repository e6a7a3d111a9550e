import type { Mode } from '../domain/access/token.js'
import type { Callback, Provider, WhenUnknown } from './provider.js'

export type ProviderTable = Readonly<Record<string, ProviderEntry>>

interface ProviderEntry {
  /** The protocols of the URLs that name its carriers. */
  readonly protocols: readonly string[]
  /** What happens to its attempts with an unknown outcome. */
  readonly whenUnknown: WhenUnknown
  /** Its callbacks bear a signature over their content. Where absent, a shared secret or connection alone says where they come from. */
  readonly signsCallbacks?: boolean
  load(): Promise<ProviderModule>
}

/** What a provider's file exports. `Parts` and `CallbackParts` come from the channel's runtime. */
export interface ProviderModule<Message = unknown, Parts = unknown, CallbackParts = unknown> {
  create(parts: Parts): Provider<Message>
  /** The account at the carrier, whatever its secrets and options; where absent, user and server of the URL. */
  identify?(url: URL): string
  /** The number of messages that may be on their way to this carrier. A bad number is refused when the carrier is opened. */
  concurrency(url: URL): number
  /** Tries the credentials without sending anything, where the carrier can be asked; its answer. Throws SendError. */
  checkCredentials?(url: URL, signal: AbortSignal): Promise<string>
  /** The reader of callbacks over HTTP: of the operator's carriers, or of the simulated one. */
  callback?(senders: CallbackSenders, parts: CallbackParts): Callback
}

/** The carriers that may send callbacks to one reader, and the modes of the messages that they get. */
export type CallbackSenders = { readonly modes: readonly Mode[] } & (
  | { readonly carriers: readonly { readonly url: URL; readonly identity: string }[] }
  | { readonly simulatorSecret: string; readonly identity: string }
)
