import { kindOf } from './carrier-name.js'
import type { WhenUnknown } from './provider.js'
import { channelModules } from './registry.js'

/** By the name that every attempt keeps, so that the class is known also where the provider is no longer configured. */
const classes: Readonly<Record<string, WhenUnknown>> = Object.assign({}, ...channelModules.map(({ providers }) => providers))

/** A simulated carrier is of the class of the one that it plays. An unknown provider's attempt is left to a person. */
export const unknownClassOf = (provider: string): WhenUnknown => classes[kindOf(provider).replace(/^simulator\//, '')] ?? 'never'
