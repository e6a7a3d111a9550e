import type { Callback } from '../channels/provider.js'
import type { Config } from '../config.js'
import type { Keys } from '../domain/keys.js'
import { realWhatsappCallbacks, simulatedWhatsappCallbacks } from './whatsapp.js'

/** The readers of carriers' callbacks, real and simulated: one line per provider that is told of things over HTTP. */
export function wireCallbacks(config: Config, keys: Keys): { real: Callback[]; simulated: Callback[] } {
  return {
    real: [...realWhatsappCallbacks(config)],
    simulated: config.simulator ? [...simulatedWhatsappCallbacks(keys)] : [],
  }
}
