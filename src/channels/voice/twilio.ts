import type { CarrierSource } from '../../domain/delivery/carrier-source.js'
import { cutText } from '../../domain/text/text.js'
import { MIB } from '../../domain/units.js'
import { askWithCredentials, type CarrierAnswer, CarrierHttp, mayComeFromProxy, objectOf, textOf } from '../carrier-http.js'
import { type Carrier, type Provider, type Receipt, SendError } from '../provider.js'
import type { ProviderModule } from '../provider-module.js'
import type { FindScript } from './preparation.js'
import { basicAuth, readTwilioAccount, type TwilioAccount } from './twilio-account.js'
import { callbackUrl, twilioCallback } from './twilio-callback.js'
import { findCall, type LookupParts, lookupHttp } from './twilio-lookup.js'
import { callContent, type VoiceMessage } from './voice-message.js'

export interface TwilioOptions extends LookupParts {
  /** The address of our callbacks: …/callbacks/twilio. */
  callbackBase: string
}

export const TWILIO = 'twilio'
const TIMEOUT_MS = 15_000
const STATUS_EVENTS = ['initiated', 'ringing', 'answered', 'completed']
const MAX_ANSWER = 262_144
const REASONS = { unsent: 'A operadora de voz não atende.', unanswered: 'A operadora de voz não respondeu ao pedido de ligação.' }
const MAX_RECORDING = 64 * MIB

/** Errors of the number itself: another attempt changes nothing. */
const permanentErrors: Record<number, string> = {
  13223: 'A operadora não reconhece o número.',
  13224: 'A operadora não reconhece o número.',
  13225: 'O número está bloqueado na operadora.',
  21211: 'O número não existe, segundo a operadora.',
  21214: 'A operadora não alcança este número.',
  21216: 'A operadora não permite ligar para este número.',
  21217: 'O número não existe, segundo a operadora.',
}

const REGION = 'A conta na operadora não tem permissão para ligar para esta região. Libere-a no painel da operadora.'
/** Errors that the operator can correct in the account and that concern some numbers only: calls to other numbers go on. */
const accountErrors: Record<number, string> = {
  21203: REGION,
  21215: REGION,
  21219: 'A conta de avaliação na operadora só liga para números verificados.',
}
const FROM = 'A operadora não aceita o número de origem. Confira from em VOICE_URL.'
const ADDRESS = 'A operadora não aceita o endereço dos avisos. Confira PUBLIC_URL.'
/** Errors that the operator can correct in the settings and that concern all calls. */
const settingErrors: Record<number, string> = { 21205: ADDRESS, 21209: ADDRESS, 21210: FROM, 21212: FROM, 21213: FROM }

/** Calls over Twilio's REST API, which other carriers offer too. */
export function twilioProvider(options: TwilioOptions): Provider<VoiceMessage> {
  return {
    name: TWILIO,
    channel: 'voice',
    // The carrier is asked about a call with unknown outcome: nobody is called twice on a guess.
    whenUnknown: 'lookup',
    timeoutMs: TIMEOUT_MS,
    open: async url => openCarrier(readTwilioAccount(url), options),
  }
}

/** What the reader of callbacks needs. */
export interface TwilioCallbackParts {
  findScript: FindScript
  /** Has the carrier asked about a call that is over. */
  askSoon(name: string, reference: string, source: CarrierSource): Promise<void>
}

/** The requests at once: a call lasts longer than the request for it. */
const REQUESTS_AT_ONCE = 20

export const twilio: ProviderModule<VoiceMessage, TwilioOptions, TwilioCallbackParts> = {
  create: twilioProvider,
  // With the calling number, because a call is looked for by it.
  identify(url) {
    const { sid, from } = readTwilioAccount(url)
    return `${sid}@${url.host} ${from}`
  },
  concurrency: () => REQUESTS_AT_ONCE,
  checkCredentials(url, signal) {
    const account = readTwilioAccount(url)
    return askWithCredentials(
      { method: 'GET', url: `${account.baseUrl}.json`, headers: { authorization: basicAuth(account) } },
      signal,
    )
  },
  callback(senders, { findScript, askSoon }) {
    const accounts =
      'carriers' in senders
        ? senders.carriers.map(({ url, identity }) => ({ ...readTwilioAccount(url), identity }))
        : [{ token: senders.simulatorSecret, voice: null, identity: senders.identity }]
    const source = (carriers: readonly string[]): CarrierSource => ({ channel: 'voice', carriers, modes: senders.modes })
    return twilioCallback({
      name: TWILIO,
      accounts,
      findScript: (reference, carriers) => findScript(reference, source(carriers)),
      onAnsweredEnd: (name, reference, carriers) => askSoon(name, reference, source(carriers)),
    })
  },
}

function openCarrier(account: TwilioAccount, options: TwilioOptions): Carrier<VoiceMessage> {
  const http = new CarrierHttp({ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER, reasons: REASONS })
  const lookups = lookupHttp()
  const headers = { authorization: basicAuth(account), 'content-type': 'application/x-www-form-urlencoded' }
  return {
    async send(message, signal) {
      const body = callForm(message, account, options.callbackBase).toString()
      return readAnswer(await http.send({ method: 'POST', url: `${account.baseUrl}/Calls.json`, headers, body }, signal))
    },
    contentOf: callContent,
    find: (reference, sentTo, signal) => findCall(lookups, account, options, reference, sentTo ?? '', signal),
    close: async () => void (await Promise.all([http.close(), lookups.close()])),
  }
}

function callForm(message: VoiceMessage, account: TwilioAccount, base: string): URLSearchParams {
  const { to, reference, againMs } = message
  const url = (about: 'status' | 'script' | 'recording'): string => callbackUrl(base, { about, reference, againMs })
  const form = new URLSearchParams({ To: to, From: account.from, Timeout: String(account.ringSeconds) })
  // The documents are requested by the carrier instead of sent along: each request shows how far the person listened.
  form.set('Url', url('script'))
  // The same document: a second attempt is better than an error that the person hears.
  form.set('FallbackUrl', url('script'))
  form.set('StatusCallback', url('status'))
  for (const event of STATUS_EVENTS) form.append('StatusCallbackEvent', event)
  // Waits for the end of a machine's greeting: the machine does not record what is said before.
  if (account.machine) form.set('MachineDetection', 'DetectMessageEnd')
  if (account.record) {
    form.set('Record', 'true')
    form.set('RecordingChannels', 'dual')
    form.set('RecordingStatusCallback', url('recording'))
  }
  return form
}

function readAnswer(given: CarrierAnswer): Receipt {
  const { status } = given
  const answer = `${status} ${cutText(textOf(given), 500)}`
  const { sid, code } = objectOf(given) ?? {}
  if (status < 400) {
    const taken = status >= 200 && status < 300
    if (taken && typeof sid === 'string' && sid !== '') return { references: [sid], answer, delivered: false }
    throw new SendError('uncertain', 'A operadora de voz deu uma resposta que não se entende.', { answer })
  }
  if (status === 429) {
    const retryAfterMs = given.retryAfterMs ?? 1_000
    throw new SendError('throttled', 'A operadora de voz pediu para ir mais devagar.', { answer, retryAfterMs })
  }
  // Its own 503 or 408, with one of its codes, says that the call was not begun; another one may have come after it was.
  const isOwnDelay = (status === 503 || status === 408) && typeof code === 'number'
  if (mayComeFromProxy(status) && !isOwnDelay)
    throw new SendError('uncertain', 'A operadora de voz falhou sem dizer se começou a ligação.', { answer })
  if (status === 400) throw refusalOf(Number(code), answer)
  throw new SendError('temporary', 'A operadora de voz não aceitou o pedido agora (credenciais ou disponibilidade).', { answer })
}

/** Only an error of the number is permanent: no accepted notification is lost to a wrong setting. */
function refusalOf(code: number, answer: string): SendError {
  if (code in permanentErrors) return new SendError('permanent', permanentErrors[code]!, { answer })
  if (code in accountErrors) return new SendError('temporary', accountErrors[code]!, { answer, scope: 'message' })
  const other = 'A operadora de voz recusou o pedido. Confira VOICE_URL, PUBLIC_URL e a conta na operadora.'
  return new SendError('temporary', settingErrors[code] ?? other, { answer })
}

/** The connections over which recordings are fetched. */
export const recordingHttp = (): CarrierHttp => {
  const reason = 'A operadora de voz não entregou a gravação.'
  const reasons = { unsent: reason, unanswered: reason }
  return new CarrierHttp({ timeoutMs: 60_000, maxAnswerBytes: MAX_RECORDING, reasons })
}

/** Fetches a recording by its name; null: it is not there, or not there yet. */
export async function fetchTwilioRecording(
  http: CarrierHttp,
  url: URL,
  name: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const account = readTwilioAccount(url)
  // Never from an address that a callback gives: our credentials are sent to the carrier alone.
  const address = `${account.baseUrl}/Recordings/${encodeURIComponent(name)}.wav`
  const headers = { authorization: basicAuth(account) }
  const { status, body, complete } = await http.send({ method: 'GET', url: address, headers }, signal)
  if (status < 200 || status > 299) return null
  if (!complete) throw new Error(`the recording has more than ${MAX_RECORDING} bytes`)
  return body.length === 0 ? null : body
}
