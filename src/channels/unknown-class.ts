import { kindOf } from './carrier-name.js'
import type { Provider } from './provider.js'

/**
 * What happens to a send without an answer, by the name that every attempt keeps: also where its provider is no longer
 * configured. A test holds this against the providers themselves.
 */
export const unknownClasses: Readonly<Record<string, Provider<unknown>['whenUnknown']>> = {
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

/** A simulated carrier is of the class of the one that it plays. Unknown: left to a person. */
export const unknownClassOf = (provider: string): Provider<unknown>['whenUnknown'] =>
  unknownClasses[kindOf(provider).replace(/^simulator\//, '')] ?? 'never'
