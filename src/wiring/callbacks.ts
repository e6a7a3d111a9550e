import type { Callback } from '../channels/provider.js'
import { TWILIO } from '../channels/voice/twilio.js'
import { readTwilioAccount } from '../channels/voice/twilio-account.js'
import { twilioCallback } from '../channels/voice/twilio-callback.js'
import type { Config } from '../config.js'
import type { Keys } from '../domain/keys.js'
import { createRendering } from '../engine/rendering.js'
import { createScriptReader } from '../engine/voice.js'
import { findCall } from '../store/calls.js'
import type { Pool } from '../store/postgres.js'
import { findVersionContent } from '../store/templates.js'
import { realWhatsappCallbacks, simulatedWhatsappCallbacks } from './whatsapp.js'

export interface CallbackWiring {
  config: Config
  keys: Keys
  pool: Pool
}

/** The readers of carriers' callbacks, real and simulated: one line per provider that is told of things over HTTP. */
export function wireCallbacks(parts: CallbackWiring): { real: Callback[]; simulated: Callback[] } {
  const { config, keys } = parts
  const secret = keys.simulator.toString('hex')
  return {
    real: [...realWhatsappCallbacks(config), ...twilio(parts, config.voice.carriers.filter(isTwilio).map(readTwilioAccount))],
    simulated: config.simulator ? [...simulatedWhatsappCallbacks(keys), ...twilio(parts, [{ token: secret, voice: null }])] : [],
  }
}

const isTwilio = ({ protocol }: URL): boolean => protocol === 'twilio:'

function twilio({ pool }: CallbackWiring, accounts: readonly { token: string; voice: string | null }[]): Callback[] {
  const render = createRendering((id, version) => findVersionContent(pool, id, version))
  const findScript = createScriptReader(notification => findCall(pool, notification), render)
  return accounts.length === 0 ? [] : [twilioCallback({ name: TWILIO, accounts, findScript })]
}
