import { providerOf } from './carrier-name.js'
import type { WhenUnknown } from './provider.js'
import { channelModules } from './registry.js'

/** The class of unknown outcomes of every provider, also for attempts of carriers that are no longer configured. */
const classes: Readonly<Record<string, WhenUnknown>> = Object.assign({}, ...channelModules.map(({ providers }) => providers))

/** By the carrier's identity. A simulated carrier has the class of the real one; a carrier of no known provider is left to a person. */
export const unknownClassOf = (carrier: string): WhenUnknown =>
  classes[providerOf(carrier).replace(/^simulator\//, '')] ?? 'never'
