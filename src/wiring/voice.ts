import type { Callback, Provider, VoiceMessage } from '../channels/provider.js'
import { linesOf, sipProvider } from '../channels/voice/sip.js'
import { fetchTwilioRecording, TWILIO, twilioProvider } from '../channels/voice/twilio.js'
import { readTwilioAccount } from '../channels/voice/twilio-account.js'
import { type TwilioCallbackOptions, twilioCallback } from '../channels/voice/twilio-callback.js'
import type { Config } from '../config.js'
import type { Keys } from '../domain/keys.js'
import type { FetchRecording } from '../engine/recordings.js'
import { createRendering } from '../engine/rendering.js'
import { createScriptReader, createVoicePreparation } from '../engine/voice.js'
import { findCall } from '../store/calls.js'
import { findKnownNames } from '../store/carrier-references.js'
import type { Pool } from '../store/postgres.js'
import { findVersionContent } from '../store/templates.js'
import { type ChannelWiring, carrierKey, readSimulated, type World } from './lanes.js'

/** To a carrier whose calls last longer than the request for them. */
const REQUESTS_AT_ONCE = 20
const MINUTE_MS = 60_000
/** The simulated world runs faster: 15 minutes are a second and a half. */
const SIMULATED_MINUTE_MS = 100

export function wireVoice({ config, pool }: { config: Config; pool: Pool }): ChannelWiring<VoiceMessage> {
  const render = createRendering((id, version) => findVersionContent(pool, id, version))
  return {
    channel: 'voice',
    carriers: config.voice.carriers,
    concurrency: url => (url.protocol === 'sip:' ? linesOf(url) : REQUESTS_AT_ONCE),
    provider: (url, world) => (url.protocol === 'sip:' ? sipProvider({ onNews: world.onNews }) : twilio(config, pool, world)),
    prepare: world => createVoicePreparation({ render, minuteMs: world.simulatorUrl === null ? MINUTE_MS : SIMULATED_MINUTE_MS }),
  }
}

function twilio({ publicUrl, voice }: Config, pool: Pool, { simulatorUrl }: World): Provider<VoiceMessage> {
  const simulated = simulatorUrl !== null
  return twilioProvider({
    callbackBase: `${publicUrl}/callbacks/${simulated ? 'simulator/' : ''}${TWILIO}`,
    accounts: simulated ? [] : voice.carriers.filter(isTwilio),
    findKnown: names => findKnownNames(pool, carrierKey(TWILIO, simulated), names),
  })
}

const isTwilio = ({ protocol }: URL): boolean => protocol === 'twilio:'

export function realVoiceCallbacks(config: Config, pool: Pool): Callback[] {
  const accounts = config.voice.carriers.filter(isTwilio).map(readTwilioAccount)
  return accounts.length === 0 ? [] : [readCallbacks(accounts, pool)]
}

export const simulatedVoiceCallbacks = (keys: Keys, pool: Pool): Callback[] => [
  readCallbacks([{ token: keys.simulator.toString('hex'), voice: null }], pool),
]

function readCallbacks(accounts: TwilioCallbackOptions['accounts'], pool: Pool): Callback {
  const render = createRendering((id, version) => findVersionContent(pool, id, version))
  const findScript = createScriptReader(notification => findCall(pool, notification), render)
  return twilioCallback({ name: TWILIO, accounts, findScript })
}

/** Whom to ask for the recordings of whose calls. */
export async function wireRecordings(config: Config, simulatorUrl: string | null): Promise<Map<string, FetchRecording>> {
  const real = config.voice.carriers.filter(isTwilio)
  const simulated = simulatorUrl === null ? [] : [await readSimulated(simulatorUrl, 'voice')]
  const carriers = new Map<string, FetchRecording>()
  if (real.length > 0) carriers.set(carrierKey(TWILIO, false), fetchFrom(real))
  if (simulated.length > 0) carriers.set(carrierKey(TWILIO, true), fetchFrom(simulated))
  return carriers
}

/** A recording is in one of the accounts. */
const fetchFrom =
  (urls: readonly URL[]): FetchRecording =>
  async (name, signal) => {
    for (const url of urls) {
      const bytes = await fetchTwilioRecording(url, name, signal)
      if (bytes !== null) return bytes
    }
    return null
  }
