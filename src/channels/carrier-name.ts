import { createHash } from 'node:crypto'
import type { Provider } from './provider.js'

/**
 * How several carriers of one kind are told apart by the name that every attempt keeps. What a carrier calls its messages is
 * kept by kind: two nodes of one carrier may report on each other's messages, and such names are of one message alone.
 */
export interface CarrierNames {
  /** Stored with every attempt from now on. */
  name: string
  /** What the same carrier is called when there are more, or fewer, of its kind: attempts of that time are its own too. */
  formerly: string
}

export interface NamedCarrier {
  provider: Pick<Provider<unknown>, 'name' | 'identify'>
  url: URL
}

/** In their order: smpp for the only one of its kind, smpp:smsc.example.com/1f0c2a9b otherwise, wherever it stands in the list. */
export const nameCarriers = (carriers: readonly NamedCarrier[]): CarrierNames[] =>
  carriers.map(({ provider, url }) => {
    const kind = provider.name
    const full = `${kind}:${url.hostname}/${digest((provider.identify ?? accountOf)(url))}`
    const alone = carriers.filter(other => other.provider.name === kind).length === 1
    return alone ? { name: kind, formerly: full } : { name: full, formerly: kind }
  })

const digest = (identity: string): string => createHash('sha256').update(identity).digest('hex').slice(0, 8)

/** Whose account at which server. Not for carriers whose URL has a secret in the user's place. */
const accountOf = ({ username, hostname, port, pathname }: URL): string => `${username}@${hostname}:${port}${pathname}`

/** The kind of carrier that a name speaks of. */
export const kindOf = (name: string): string => name.split(':', 1)[0]!

/** The name under which references of a kind of carriers are kept: a simulated one's are not the real one's. */
export const carrierKey = (provider: string, simulated: boolean): string => (simulated ? `simulator/${provider}` : provider)
