import { providerOf } from './carrier-name.js'
import type { Provider } from './provider.js'

/**
 * The class of unknown outcomes of every provider, for attempts of carriers that are no longer configured. A test compares this
 * table with the providers themselves.
 */
const classes: Readonly<Record<string, Provider<unknown>['whenUnknown']>> = {
  smtp: 'safe',
  mx: 'safe',
  smpp: 'report',
  zenvia: 'never',
  'whatsapp-cloud': 'report',
  twilio: 'lookup',
  sip: 'never',
  'print-shop': 'lookup',
  'e-carta': 'lookup',
}

/** By the carrier's identity. A simulated carrier has the class of the real one; a carrier of no known provider is left to a person. */
export const unknownClassOf = (carrier: string): Provider<unknown>['whenUnknown'] =>
  classes[providerOf(carrier).replace(/^simulator\//, '')] ?? 'never'
