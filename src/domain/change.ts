import type { DeliveryState } from './status.js'
import type { Fact } from './transition.js'

/**
 * The one way in which facts become true: event, status, what follows for the other channels, and the webhooks' outbox, all
 * in one transaction, many notifications at a time.
 */
export interface Change {
  notification: string
  fact: Fact
  /**
   * Only while this attempt holds its lease: a worker that was thought dead must not overwrite its successor. What its carrier
   * answered is not lost on that: its names, and that it took what is in doubt.
   */
  fence?: Fence
  /** Only while the delivery is in this state: two who want to move it on must not both do so. */
  whilst?: DeliveryState
  /** Only while its latest try is this one: what was found out about an earlier one says nothing of it. */
  of?: { attempt: number; ordinal: number }
  /** For facts that send a delivery back to the queue, or put off the moment at which it is looked at. */
  delayMs?: number
  /** Of a try that the carrier is known not to have taken: another one may take it before the delay is over. */
  detour?: boolean
  /** Any carrier may take it from now on, although another one may have it already. */
  toAnyCarrier?: boolean
  /** What the carrier calls the message that it took, one name per part; null where it is not told. */
  references?: { carrier: string; names: readonly (string | null)[] }
  /** Of what its teller may repeat for ever: the same note is kept once, and not too many of them. */
  repeatable?: boolean
  /** What the same answer says besides, true whoever holds the lease: nobody would tell it a second time. */
  besides?: Fact
}

/** A try, and whose it is. */
export interface Fence {
  owner: string
  attempt: number
  ordinal: number
}

export type ChangeOutcome = 'recorded' | 'nothing new' | 'fenced' | 'unknown'
