import { realLetterCallbacks, simulatedLetterCallbacks } from '../channels/letter/delivery.js'
import type { Callback } from '../channels/provider.js'
import { readZenviaUrl, zenviaCallback } from '../channels/sms/zenvia.js'
import { realVoiceCallbacks, simulatedVoiceCallbacks } from '../channels/voice/delivery.js'
import { realWhatsappCallbacks, simulatedWhatsappCallbacks } from '../channels/whatsapp/delivery.js'
import type { Clock } from '../domain/clock.js'
import { type Keys, simulatorSecret } from '../domain/keys.js'
import type { Pool } from '../store/postgres.js'
import type { Config } from './config.js'

export interface CallbackWiring {
  config: Config
  keys: Keys
  pool: Pool
  clock: Clock
}

/** The readers of carriers' callbacks, real and simulated: one line per provider that is told of things over HTTP. */
export function wireCallbacks({ config, keys, pool, clock }: CallbackWiring): { real: Callback[]; simulated: Callback[] } {
  const zenvia = config.sms.carriers.filter(({ protocol }) => protocol === 'zenvia:').map(url => readZenviaUrl(url).secret)
  const zenviaOfSimulator = zenviaCallback([simulatorSecret(keys.simulator, 'zenvia')])
  return {
    real: [
      ...(zenvia.length > 0 ? [zenviaCallback(zenvia)] : []),
      ...realWhatsappCallbacks(config),
      ...realVoiceCallbacks(config, pool),
      ...realLetterCallbacks(config, clock),
    ],
    simulated: config.simulator
      ? [
          zenviaOfSimulator,
          ...simulatedWhatsappCallbacks(keys),
          ...simulatedVoiceCallbacks(keys, pool),
          ...simulatedLetterCallbacks(keys, clock),
        ]
      : [],
  }
}
