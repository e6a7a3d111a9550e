import type { Callback } from '../channels/provider.js'
import { readZenviaUrl, zenviaCallback } from '../channels/sms/zenvia.js'
import type { Config } from '../config.js'
import { carrierSecret, type Keys } from '../domain/keys.js'
import type { Pool } from '../store/postgres.js'
import { realVoiceCallbacks, simulatedVoiceCallbacks } from './voice.js'
import { realWhatsappCallbacks, simulatedWhatsappCallbacks } from './whatsapp.js'

export interface CallbackWiring {
  config: Config
  keys: Keys
  pool: Pool
}

/** The readers of carriers' callbacks, real and simulated: one line per provider that is told of things over HTTP. */
export function wireCallbacks({ config, keys, pool }: CallbackWiring): { real: Callback[]; simulated: Callback[] } {
  const zenvia = config.sms.carriers.filter(({ protocol }) => protocol === 'zenvia:').map(url => readZenviaUrl(url).secret)
  const zenviaOfSimulator = zenviaCallback([carrierSecret(keys.simulator, 'zenvia')])
  return {
    real: [
      ...(zenvia.length > 0 ? [zenviaCallback(zenvia)] : []),
      ...realWhatsappCallbacks(config),
      ...realVoiceCallbacks(config, pool),
    ],
    simulated: config.simulator
      ? [zenviaOfSimulator, ...simulatedWhatsappCallbacks(keys), ...simulatedVoiceCallbacks(keys, pool)]
      : [],
  }
}
