import type { AccountSettings } from './account.js'
import type { DeliveryState, Failure } from './status.js'

/**
 * Why a link no longer opens. stranger: whoever opened it said that it is not for them; withdrawn: the channel was cancelled;
 * expired: the account's days are over.
 */
export type LinkEnd = 'stranger' | 'withdrawn' | 'expired'

const DAY = 86_400_000

export interface LinkLife {
  settings: Pick<AccountSettings, 'link.days'>
  acceptedAt: Date
  state: DeliveryState
  failure: Failure | null
}

export function endOfLink({ settings, acceptedAt, state, failure }: LinkLife, nowMs: number): LinkEnd | null {
  if (failure === 'stranger') return 'stranger'
  if (state === 'cancelled') return 'withdrawn'
  return nowMs > acceptedAt.getTime() + settings['link.days'] * DAY ? 'expired' : null
}
