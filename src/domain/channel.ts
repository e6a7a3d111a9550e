import type { AccountSettings } from './account.js'
import type { Failure } from './status.js'

/** The name of a channel inside the program, stored with every delivery. Its module in channels/ declares it. */
export type Channel = string

/** The facts about a channel that the rules of notifications depend on. */
export interface ChannelTraits {
  readonly channel: Channel
  /** For people, in Portuguese. */
  readonly label: string
  /** The carrier produces the message before it sends it, so that taking it over is not yet sending it. */
  readonly producedFirst?: boolean
  /** The link travels with the message alone: a reading before the carrier reports the delivery is noted and does not count. */
  readonly readAfterDelivery?: boolean
  /** The channel waits for another one where neither the sender nor a sequence says otherwise. */
  readonly fallback?: { readonly for: Channel; waitMinutes(settings: AccountSettings): number }
  /** The Portuguese descriptions of a delivery that differ from the common ones. */
  readonly labels: {
    readonly read?: string
    /** Of a fallback that waits for the other channel, and of a fallback that is no longer necessary. */
    readonly waiting?: string
    readonly notNeeded?: string
    readonly failures: Partial<Record<Failure, string>>
    /** The sentence for a failure's detail where the detail is a code. */
    explain?(failure: Failure, detail: string): string | null
  }
}
