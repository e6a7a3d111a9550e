import type { Callback } from '../channels/provider.js'
import type { Config } from '../config.js'
import type { Clock } from '../domain/clock.js'
import type { Keys } from '../domain/keys.js'
import { realLetterCallbacks, simulatedLetterCallbacks } from './letter.js'

export interface CallbackWiring {
  config: Config
  keys: Keys
  clock: Clock
}

/** The readers of carriers' callbacks, real and simulated: one line per provider that is told of things over HTTP. */
export function wireCallbacks({ config, keys, clock }: CallbackWiring): { real: Callback[]; simulated: Callback[] } {
  return {
    real: [...realLetterCallbacks(config, clock)],
    simulated: config.simulator ? [...simulatedLetterCallbacks(keys, clock)] : [],
  }
}
