import type { Config } from '../../app/config.js'
import { type ChannelWiring, carrierKey, readSimulated, type World } from '../../app/lanes.js'
import { type Keys, simulatorSecret } from '../../domain/keys.js'
import { findKnownNames } from '../../store/carrier-references.js'
import type { Pool } from '../../store/postgres.js'
import { findVersionContent } from '../../store/templates.js'
import type { Callback, Provider, VoiceMessage } from '../provider.js'
import { createRendering } from '../rendering.js'
import type { CallCarrier } from './call-lookups.js'
import { findCall, findRivalCalls } from './call-store.js'
import { createPlanReader, createScriptReader, createVoicePreparation } from './preparation.js'
import type { FetchRecording } from './recordings.js'
import { linesOf, sipProvider } from './sip.js'
import { fetchTwilioRecording, recordingHttp, TWILIO, twilioProvider } from './twilio.js'
import { readTwilioAccount } from './twilio-account.js'
import { type TwilioCallbackOptions, twilioCallback } from './twilio-callback.js'
import { askCall, type LookupParts, lookupHttp } from './twilio-lookup.js'

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
    provider: (url, world) => (url.protocol === 'sip:' ? sipProvider({ onEvents: world.onEvents }) : twilio(config, pool, world)),
    prepare: world => createVoicePreparation({ render, minuteMs: minuteOf(world.simulatorUrl !== null) }),
  }
}

const minuteOf = (simulated: boolean): number => (simulated ? SIMULATED_MINUTE_MS : MINUTE_MS)

function twilio({ publicUrl, voice }: Config, pool: Pool, { simulatorUrl, onEvents }: World): Provider<VoiceMessage> {
  const simulated = simulatorUrl !== null
  const carrier = carrierKey(TWILIO, simulated)
  return twilioProvider({
    callbackBase: `${publicUrl}/callbacks/${simulated ? 'simulator/' : ''}${TWILIO}`,
    accounts: simulated ? [] : voice.carriers.filter(isTwilio),
    findKnown: names => findKnownNames(pool, carrier, names),
    findRivals: (reference, to) => findRivalCalls(pool, { notification: reference.split('.', 1)[0]!, to, carrier }),
    readPlan: readPlans(pool, simulated),
    onEvents,
  })
}

function readPlans(pool: Pool, simulated: boolean): LookupParts['readPlan'] {
  return createPlanReader(notification => findCall(pool, notification), { minuteMs: minuteOf(simulated) })
}

const isTwilio = ({ protocol }: URL): boolean => protocol === 'twilio:'

export function realVoiceCallbacks(config: Config, pool: Pool): Callback[] {
  const accounts = config.voice.carriers.filter(isTwilio).map(readTwilioAccount)
  return accounts.length === 0 ? [] : [readCallbacks(accounts, pool)]
}

export const simulatedVoiceCallbacks = (keys: Keys, pool: Pool): Callback[] => [
  readCallbacks([{ token: simulatorSecret(keys.simulator, TWILIO), voice: null }], pool),
]

function readCallbacks(accounts: TwilioCallbackOptions['accounts'], pool: Pool): Callback {
  const render = createRendering((id, version) => findVersionContent(pool, id, version))
  const findScript = createScriptReader(notification => findCall(pool, notification), render)
  return twilioCallback({ name: TWILIO, accounts, findScript })
}

/** The carriers that can be asked about calls, by the names of their references. */
async function carriersToAsk(
  config: Config,
  simulatorUrl: string | null,
): Promise<{ key: string; simulated: boolean; urls: readonly URL[] }[]> {
  const real = config.voice.carriers.filter(isTwilio)
  const simulated = simulatorUrl === null ? [] : [await readSimulated(simulatorUrl, 'voice')]
  return [
    { key: carrierKey(TWILIO, false), simulated: false, urls: real },
    { key: carrierKey(TWILIO, true), simulated: true, urls: simulated },
  ].filter(({ urls }) => urls.length > 0)
}

/** Whom to ask for the recordings of whose calls. */
export async function wireRecordings(config: Config, simulatorUrl: string | null): Promise<Map<string, FetchRecording>> {
  return new Map((await carriersToAsk(config, simulatorUrl)).map(({ key, urls }) => [key, fetchFrom(urls)]))
}

/** Whom to ask how whose calls ended. */
export async function wireCallLookups(
  config: Config,
  pool: Pool,
  simulatorUrl: string | null,
): Promise<Map<string, CallCarrier>> {
  const carriers = await carriersToAsk(config, simulatorUrl)
  const http = lookupHttp()
  return new Map(
    carriers.map(({ key, simulated, urls }) => {
      const readPlan = readPlans(pool, simulated)
      const records = urls.some(url => readTwilioAccount(url).record)
      return [key, { records, ask: (name, reference, signal) => askCall(http, urls, name, reference, readPlan, signal) }]
    }),
  )
}

/** A recording is in one of the accounts. */
function fetchFrom(urls: readonly URL[]): FetchRecording {
  const http = recordingHttp()
  return async (name, signal) => {
    for (const url of urls) {
      const bytes = await fetchTwilioRecording(http, url, name, signal)
      if (bytes !== null) return bytes
    }
    return null
  }
}
