import { providerOf } from './carrier-name.js'
import type { ProviderTable } from './channel.js'
import type { WhenUnknown } from './provider.js'
import { channelModules } from './registry.js'

/** As the channels' modules declare them, so that the class is known also where a carrier is no longer configured. */
const classes: ProviderTable = Object.assign({}, ...channelModules.map(({ providers }) => providers))

/** By the carrier's identity. A simulated carrier has the class of the real one; a carrier of no known provider is left to a person. */
export const unknownClassOf = (carrier: string): WhenUnknown =>
  classes[providerOf(carrier).replace(/^simulator\//, '')]?.whenUnknown ?? 'never'
