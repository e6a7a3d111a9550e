import type { AccountSettings } from './account.js'
import type { ContactDefaults } from './contact/settings.js'
import type { Failure } from './delivery/status.js'

/** The name of a channel inside the program, stored with every delivery. Its module in channels/ declares it. */
export type Channel = string

/** `counts`: the member of the fact of sending that says how many units a message has; absent: a message is one. */
interface CostUnit {
  /** In Portuguese: one, and several. */
  readonly one: string
  readonly many: string
  readonly counts?: string
}

/** The facts about a channel that the rules of notifications depend on. */
export interface ChannelTraits {
  readonly channel: Channel
  /** For people, in Portuguese. */
  readonly label: string
  /** The label is of that gender: a carta, a ligação. */
  readonly feminine?: boolean
  /** The carrier produces the message before it sends it, so that taking it over is not yet sending it. */
  readonly producedFirst?: boolean
  /** The link travels with the message alone: a reading before the carrier reports the delivery is noted and does not count. */
  readonly readAfterDelivery?: boolean
  /** The channel waits for another one where neither the sender nor a sequence says otherwise. */
  readonly fallback?: { readonly for: Channel; waitMinutes(settings: AccountSettings): number }
  /** The channel reaches people at once, wherever they are: its contacts keep to hours, days and a number per day. */
  readonly contact?: ContactDefaults
  /** Where others may read or hear the message before the recipient was identified, in Portuguese; absent: nowhere. */
  readonly exposed?: string
  /** What carriers charge for. */
  readonly cost: CostUnit
  /** The Portuguese descriptions of a delivery that differ from the common ones. */
  readonly labels: {
    readonly read?: string
    /** The words for a fallback that waits for the other channel, and for a fallback that is no longer necessary. */
    readonly waiting?: string
    readonly notNeeded?: string
    readonly failures: Partial<Record<Failure, string>>
    /** The sentence for a failure's detail where the detail is a code. */
    explain?(failure: Failure, detail: string): string | null
  }
}

/** A participle in the gender of the channel's label: "SMS enviado", "carta enviada". */
export const agree = ({ feminine }: Pick<ChannelTraits, 'feminine'>, participle: string): string =>
  feminine ? participle.replace(/o$/, 'a') : participle
