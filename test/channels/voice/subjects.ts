import type { Provider } from '../../../src/channels/provider.js'
import { findRivalCalls } from '../../../src/channels/voice/call-store.js'
import { TWILIO, twilioProvider } from '../../../src/channels/voice/twilio.js'
import type { VoiceMessage } from '../../../src/channels/voice/voice-message.js'
import { expectReference } from '../../../src/domain/delivery/reference.js'
import { findKnownNames } from '../../../src/store/carrier/references.js'
import { findProgram } from '../../support/programs/other-programs.js'
import { type HttpAnswer, startHttpSide } from '../scripted-http.js'
import { type ProviderParts, RECIPIENT, type Subject, WAIT_SECONDS } from '../subject.js'
import { call } from './calls.js'
import { openExchange, TRUNK_PASSWORD } from './exchange.js'

const TOKEN = 'token-do-contrato'

const message = (reference: string): VoiceMessage => call({ greeting: 'Oi.', text: 'Oi.' }, { reference, to: RECIPIENT.number })

/** Every call that was taken: Twilio lists them by their number, and knows no name of ours. */
const callList = (taken: readonly string[]): HttpAnswer => {
  const calls = taken.map((_, place) => ({
    sid: `CA${place + 1}`,
    status: 'ringing',
    date_created: new Date().toUTCString(),
  }))
  return { status: 200, body: JSON.stringify({ calls }) }
}

const twilio = ({ pool, carrier = TWILIO, onEvents }: ProviderParts): Provider<VoiceMessage> =>
  twilioProvider({
    callbackBase: 'http://127.0.0.1:9/callbacks/twilio',
    findKnown: names => findKnownNames(pool, carrier, names),
    findRivals: (reference, to) => findRivalCalls(pool, { notification: expectReference(reference).notification, to, carrier }),
    readPlan: async () => ({ againMs: null, heard: false }),
    onEvents,
  })

export const twilioSubject: Subject<VoiceMessage> = {
  name: TWILIO,
  channel: 'voice',
  setting: 'VOICE_URL',
  start: () =>
    startHttpSide({
      provider: twilio,
      url: port => `twilio://conta:${TOKEN}@127.0.0.1:${port}?from=%2B551140041234&tls=off`,
      nameOf: ({ body }) => new URL(new URLSearchParams(body).get('StatusCallback')!).searchParams.get('ref')!,
      accept: number => ({ status: 201, body: JSON.stringify({ sid: `CA${number}`, status: 'queued' }) }),
      refusals: {
        'refuse for good': { status: 400, body: '{"code":21211}' },
        'refuse for a while': { status: 503, body: '{"code":20503}' },
        throttle: { status: 429, body: '{"code":20429}', headers: { 'retry-after': String(WAIT_SECONDS) } },
      },
      lookUp: (_, taken) => callList(taken),
    }),
  request: { voz: { number: RECIPIENT.number } },
  message,
  secrets: [TOKEN, Buffer.from(`conta:${TOKEN}`).toString('base64')],
  badUrls: [
    ['twilio://host', 'faltam a conta'],
    [`twilio://a:${TOKEN}@host`, 'from'],
    [`twilio://a:${TOKEN}@host?from=123`, 'from'],
    ['twilio://a@host?from=+551140041234', 'faltam a conta'],
    [`twilio://a:${TOKEN}@host?from=+551140041234&ring=1`, 'ring'],
    [`twilio://a:${TOKEN}@host?from=+551140041234&machine=maybe`, 'machine'],
    [`twilio://a:${TOKEN}@host?from=+551140041234&record=x`, 'record'],
    [`twilio://a:${TOKEN}@host?from=+551140041234&tls=no`, 'tls'],
  ],
  givesNames: true,
  cannot: {},
}

/** Its programs may not be on this machine. */
export const canCallOverSip = ['baresip', 'espeak-ng'].every(program => findProgram(program) !== null)

export const sipSubject: Subject<VoiceMessage> = {
  name: 'sip',
  channel: 'voice',
  setting: 'VOICE_URL',
  start: openExchange,
  request: { voz: { number: RECIPIENT.number } },
  message,
  secrets: [TRUNK_PASSWORD],
  badUrls: [
    ['sip://127.0.0.1', 'usuário'],
    ['sip://a:b%3Bc@host', 'sinais impossíveis'],
    ['sip://a:b@host?lines=0', 'lines'],
    ['sip://a:b@host?local=eu', 'local'],
  ],
  givesNames: false,
  // No telephone rang.
  garbageIs: 'temporary',
  atOnce: 4,
  cannot: {
    throttle: 'a trunk with too many calls answers 503, like one that is down',
    'carry our reference': 'a call carries numbers and sound',
    'stand behind a proxy': 'a final answer to an INVITE, whoever gave it, says that nobody took the call',
  },
}
