import { findAttempt } from '../../domain/delivery/carrier-source.js'
import { expectReference } from '../../domain/delivery/reference.js'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../domain/units.js'
import type { Chore } from '../../runtime/chores.js'
import { findVersionContent } from '../../store/accounts/templates.js'
import { findKnownNames } from '../../store/carrier/references.js'
import { readBlobPiece } from '../../store/files/read.js'
import type { Pool } from '../../store/postgres.js'
import { identifyCarrier, modesOf, simulatedName } from '../carrier-name.js'
import type {
  ChannelDelivery,
  ChannelRuntime,
  DeliveryContext,
  DocumentReader,
  RuntimeContext,
  World,
} from '../channel-runtime.js'
import type { ChannelPreview } from '../preview.js'
import { createRendering, type Rendering } from '../rendering.js'
import { hurryCallLookup } from './call-lookup-store.js'
import { askOpenCalls, type CallCarrier } from './call-lookups.js'
import { findCall, findRivalCalls } from './call-store.js'
import { recordingDocument, type VoiceConfig, voice } from './channel.js'
import { createPlanReader, createScriptReader, createVoicePreparation, readCallReference } from './preparation.js'
import { findRecording } from './recording-store.js'
import { endRecordings, type FetchRecording, fetchRecordings } from './recordings.js'
import { fetchTwilioRecording, recordingHttp, TWILIO, type TwilioCallbackParts, twilio } from './twilio.js'
import { readTwilioAccount } from './twilio-account.js'
import { askCall, type LookupParts, lookupHttp } from './twilio-lookup.js'
import type { VoiceMessage } from './voice-message.js'

/** A minute of an account's plan lasts this long in the simulator: 15 minutes are a second and a half. */
const SIMULATED_MINUTE_MS = 100

/** A carrier writes the errors of a call to its log a moment after the call. */
const ERROR_LOG_MS = 20 * SECOND_MS

export const voiceRuntime: ChannelRuntime<VoiceConfig> = { openDelivery, openPreview, callbackParts, documents }

async function openDelivery(context: DeliveryContext<VoiceConfig>): Promise<ChannelDelivery<VoiceMessage>> {
  const render = renderingOf(context)
  return {
    partsOf: (provider, world) => partsOf(provider, context, world),
    prepare: world => createVoicePreparation({ render, minuteMs: minuteOf(world.simulatorUrl !== null) }),
    chores: await choresOf(context),
  }
}

function openPreview(context: RuntimeContext<VoiceConfig>): ChannelPreview {
  const prepare = createVoicePreparation({ render: renderingOf(context), minuteMs: MINUTE_MS })
  return {
    async show(claim) {
      const message = await prepare(claim)
      if ('refused' in message) return message
      const { greeting, text } = message.script
      return { kind: 'speech', greeting, text }
    },
  }
}

const renderingOf = ({ pool, templates }: RuntimeContext<VoiceConfig>): Rendering =>
  createRendering(voice, templates, (id, version) => findVersionContent(pool, id, version))

const minuteOf = (simulated: boolean): number => (simulated ? SIMULATED_MINUTE_MS : MINUTE_MS)

function partsOf(provider: string, { config, publicUrl, pool }: DeliveryContext<VoiceConfig>, world: World) {
  const { carrier, simulatorUrl } = world
  const simulated = simulatorUrl !== null
  return {
    callbackBase: `${publicUrl}/callbacks/${simulated ? simulatedName(provider) : provider}`,
    findKnown: (names: readonly string[]) => findKnownNames(pool, carrier, names),
    findRivals: (reference: string, to: string) =>
      findRivalCalls(pool, { notification: expectReference(reference).notification, to, carrier }),
    readPlan: readPlans(pool, simulated),
    onEvents: world.onEvents,
    heldFolder: config.heldFolder,
  }
}

function readPlans(pool: Pool, simulated: boolean): LookupParts['readPlan'] {
  return createPlanReader(notification => findCall(pool, notification), { minuteMs: minuteOf(simulated) })
}

function callbackParts(context: RuntimeContext<VoiceConfig>): TwilioCallbackParts {
  const { pool } = context
  return {
    findScript: createScriptReader(notification => findCall(pool, notification), renderingOf(context)),
    async askSoon(name, reference, source) {
      const named = readCallReference(reference)
      const call = named && (await findCall(pool, named.notification))
      const carrier = call && findAttempt(source, call, named.ordinal)
      if (named === null || carrier === null) return
      const settleMs = carrier === simulatedName(TWILIO) ? 0 : ERROR_LOG_MS
      await hurryCallLookup(pool, { carrier, name, notification: named.notification, ordinal: named.ordinal }, settleMs)
    },
  }
}

function documents({ pool }: RuntimeContext<VoiceConfig>): Record<string, DocumentReader> {
  return {
    [recordingDocument.name]: {
      async open(notification) {
        const found = await findRecording(pool, notification)
        if (found === null || found === 'expired') return found
        return { size: found.size, read: (from, length) => readPiece(pool, found.sha256, from, length) }
      },
    },
  }
}

async function readPiece(pool: Pool, sha256: string, from: number, length: number): Promise<Buffer> {
  const piece = await readBlobPiece(pool, sha256, from, length)
  if (piece === null) throw new Error('the recording is gone')
  return piece
}

async function choresOf(context: DeliveryContext<VoiceConfig>): Promise<Chore[]> {
  const { config, pool } = context
  const polled = await polledCarriers(context)
  const fetches = recordingHttp()
  const recordings = new Map<string, FetchRecording>(
    polled.map(({ carrier, url }) => [carrier, (name, signal) => fetchTwilioRecording(fetches, url, name, signal)]),
  )
  const http = lookupHttp()
  const calls = new Map<string, CallCarrier>(
    polled.map(({ carrier, simulated, url }) => {
      const readPlan = readPlans(pool, simulated)
      const { record: records } = readTwilioAccount(url)
      const modes = modesOf(simulated, context.hasCarriers)
      return [
        carrier,
        { modes, records, ask: (name, reference, signal) => askCall(http, url, name, reference, readPlan, signal) },
      ]
    }),
  )
  const days = config.recordingDays
  return [
    { name: 'recordings of calls', everyMs: SECOND_MS, run: () => fetchRecordings(recordings, context) },
    { name: 'ends of calls', everyMs: SECOND_MS, run: () => askOpenCalls(calls, context) },
    ...(days === null
      ? []
      : [
          {
            name: 'recordings at the end of their term',
            everyMs: HOUR_MS,
            oneNode: true as const,
            run: () => endRecordings(context, days),
          },
        ]),
  ]
}

/** The carriers that are polled for the results and recordings of their own calls. */
async function polledCarriers({ config, simulatorAddress }: DeliveryContext<VoiceConfig>) {
  const simulated = await simulatorAddress(voice.channel)
  const real = config.carriers.filter(({ protocol }) => protocol === 'twilio:')
  return [
    ...real.map(url => ({ carrier: identifyCarrier({ name: TWILIO, ...twilio }, url), simulated: false, url })),
    ...(simulated === null ? [] : [{ carrier: simulatedName(TWILIO), simulated: true, url: simulated }]),
  ]
}
