import type { Mode } from '../access/token.js'
import type { Channel } from '../channel.js'

/** Who tells something about messages. A signature, a connection or the question that we asked proves the identities. */
export interface CarrierSource {
  channel: Channel
  /** The first one is named in the record. Several: accounts that share a secret, or connections to one account. */
  carriers: readonly string[]
  /** The modes of the messages that these carriers get. */
  modes: readonly Mode[]
}

/** The beginning of the identities of simulated carriers, so that a simulated carrier is never taken for a real one. */
export const SIMULATED = 'simulator/'

/** A delivery with all its attempts, also those before the latest. */
export interface AttemptedDelivery {
  channel: Channel
  mode: Mode
  /** An entry "ordinal carrier" for each message and each carrier that the message was claimed for. */
  attempted: readonly string[]
}

export const attemptName = (ordinal: number, carrier: string): string => `${ordinal} ${carrier}`

/**
 * The carrier of this source that got this message of the delivery; null: none did, and nothing that the source says of it
 * counts. Attempts are committed before a carrier is called, so that a true report never comes before its attempt. `ordinal`
 * null: any message of the delivery.
 */
export function findAttempt(
  { channel, carriers, modes }: CarrierSource,
  { attempted, ...delivery }: AttemptedDelivery,
  ordinal: number | null,
): string | null {
  if (delivery.channel !== channel || !modes.includes(delivery.mode)) return null
  const isOf = (carrier: string): boolean =>
    ordinal === null ? attempted.some(name => name.endsWith(` ${carrier}`)) : attempted.includes(attemptName(ordinal, carrier))
  return carriers.find(isOf) ?? null
}
