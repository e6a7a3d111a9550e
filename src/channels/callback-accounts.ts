import type { CallbackContent, CarrierEvent } from './provider.js'
import type { CallbackSenders } from './provider-module.js'

/** A carrier that signs its callbacks. */
export interface CallbackAccount {
  identity: string
  secret: string
}

/** The accounts of the operator's carriers, each with the secret in its URL, or the account of the simulated carrier. */
export const secretsOf = (senders: CallbackSenders, secretIn: (url: URL) => string): CallbackAccount[] =>
  'carriers' in senders
    ? senders.carriers.map(({ url, identity }) => ({ identity, secret: secretIn(url) }))
    : [{ identity: senders.identity, secret: senders.simulatorSecret }]

/** What the accounts that signed a callback tell with it; null: none of them signed it. */
export function contentOf<Account extends { identity: string }>(
  accounts: readonly Account[],
  isSigned: (account: Account) => boolean,
  read: () => CarrierEvent[],
): CallbackContent | null {
  const signers = accounts.filter(isSigned)
  return signers.length === 0 ? null : { carriers: signers.map(({ identity }) => identity), events: read() }
}
