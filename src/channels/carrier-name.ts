import { createHash } from 'node:crypto'
import type { Mode } from '../domain/access/token.js'
import { SIMULATED } from '../domain/delivery/carrier-source.js'
import type { ProviderModule } from './provider-module.js'

/**
 * The identity of a carrier, stored with every attempt: smpp:smsc.example.com/1f0c2a9b (provider, host, digest of the account).
 * It does not depend on the other carriers of the channel: only the carrier that had an attempt may answer for it, also after
 * the operator exchanged carriers.
 */
export const identifyCarrier = (provider: { name: string } & Pick<ProviderModule, 'identify'>, url: URL): string =>
  `${provider.name}:${url.hostname}/${digest((provider.identify ?? accountOf)(url))}`

const digest = (account: string): string => createHash('sha256').update(account).digest('hex').slice(0, 8)

/** The account and the server. Where the user is a secret token, a new token makes another carrier: unknown outcomes of the old one wait. */
const accountOf = ({ username, hostname, port, pathname }: URL): string => `${username}@${hostname}:${port}${pathname}`

/**
 * The name and the identity of the simulated carrier of a provider. The identity has no host: the simulator listens on other ports after
 * every start, but remains the same carrier.
 */
export const simulatedName = (provider: string): string => `${SIMULATED}${provider}`

export const isSimulated = (carrier: string): boolean => carrier.startsWith(SIMULATED)

/** The modes of the messages that a carrier gets. Beside real carriers the simulated ones get those of test tokens alone. */
export const modesOf = (simulated: boolean, hasCarriers: boolean): readonly Mode[] =>
  simulated ? (hasCarriers ? ['test'] : ['live', 'test']) : ['live']

export const providerOf = (carrier: string): string => carrier.split(':', 1)[0]!

/** Whether a hold names this carrier, by its identity or by its provider. */
export const namesCarrier = (held: string, identity: string): boolean => held === identity || held === providerOf(identity)

/** The provider that speaks with a carrier. A simulated carrier has the provider of the real one. */
export const realProviderOf = (carrier: string): string => {
  const provider = providerOf(carrier)
  return isSimulated(provider) ? provider.slice(SIMULATED.length) : provider
}
