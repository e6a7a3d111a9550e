import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../domain/access/secret.js'
import type { Failure } from '../../domain/delivery/status.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { Callback, CallbackContent, CallbackRequest, CarrierEvent, CarrierReport } from '../provider.js'
import { greetingDocument, HANGUP, keyDocument, machineDocument, textDocument } from './twiml.js'
import { callContent, type VoiceScript } from './voice-message.js'

export interface TwilioCallbackOptions {
  name: string
  /** The accounts that sign callbacks, each with its token. */
  accounts: readonly { identity: string; token: string; voice: string | null }[]
  /** The script of a call; null: there is no such call, or none that these carriers were asked for; lost: it cannot be written again. */
  findScript(reference: string, carriers: readonly string[]): Promise<VoiceScript | 'lost' | null>
  /** A call was answered and is over: the carrier is to be asked why, unless the message was heard. */
  onAnsweredEnd(name: string, reference: string, carriers: readonly string[]): Promise<void>
}

/** Names the call that a callback is about. It is part of the callback's address, which the carrier signs. */
export interface CallbackQuery {
  about: (typeof TOPICS)[number]
  reference: string
  againMs: number | null
}

const TOPICS = ['status', 'script', 'key', 'message', 'recording'] as const
const REPORTED_FIELDS = ['CallStatus', 'AnsweredBy', 'CallDuration', 'SipResponseCode', 'SequenceNumber', 'Digits']

export function callbackUrl(base: string, { about, reference, againMs }: CallbackQuery): string {
  const query = new URLSearchParams({ about, ref: reference })
  if (againMs !== null) query.set('again', String(againMs))
  return `${base}?${query}`
}

/** The callbacks of a Twilio-compatible carrier: status reports, recordings, and requests for the next document of a call. */
export function twilioCallback({ name, accounts, findScript, onAnsweredEnd }: TwilioCallbackOptions): Callback {
  return {
    name,
    channel: 'voice',
    async read(request) {
      const form = new URLSearchParams(request.body.toString('utf8'))
      const signers = accounts.filter(({ token }) => isSigned(request, form, token))
      const [account] = signers
      if (account === undefined) return null
      const carriers = signers.map(({ identity }) => identity)
      const query = readQuery(request.url)
      if (query === null) return { carriers, events: [] }
      if (query.about === 'status') {
        const sid = form.get('CallSid') ?? ''
        if (isAnsweredEnd(form) && sid !== '') await onAnsweredEnd(sid, query.reference, carriers)
        return { carriers, events: statusEvents(query, form) }
      }
      if (query.about === 'recording') return { carriers, events: recordingEvents(query, form) }
      return { carriers, ...speak(query, form, request.url, account, await findScript(query.reference, carriers)) }
    },
  }
}

/** X-Twilio-Signature: base64 of HMAC-SHA1 over the whole address and every parameter, sorted, name and value joined. */
export function twilioSignature(url: string, form: URLSearchParams, token: string): string {
  const valuesOf = (name: string): string[] => [...new Set(form.getAll(name))].sort()
  const names = [...new Set(form.keys())].sort()
  const text = url + names.flatMap(name => valuesOf(name).map(value => name + value)).join('')
  return createHmac('sha1', token).update(text).digest('base64')
}

function isSigned({ method, url, headers }: CallbackRequest, form: URLSearchParams, token: string): boolean {
  const signature = headers['x-twilio-signature']
  if (method !== 'POST' || typeof signature !== 'string') return false
  return spellings(url).some(spelling => isSameSecret(signature, twilioSignature(spelling, form, token)))
}

/** Carriers differ in whether the signed address has a port. */
function spellings(url: string): string[] {
  const { protocol, port } = new URL(url)
  const [, origin = '', rest = ''] = /^([^/]+\/\/(?:\[[^\]]*\]|[^/:?#]*))(?::\d*)?(.*)$/.exec(url) ?? []
  return [`${origin}${rest}`, `${origin}:${port || (protocol === 'https:' ? 443 : 80)}${rest}`]
}

function readQuery(url: string): CallbackQuery | null {
  const { searchParams: query } = new URL(url)
  const about = TOPICS.find(known => known === query.get('about'))
  const reference = query.get('ref')
  const again = query.get('again') ?? ''
  if (about === undefined || reference === null) return null
  return { about, reference, againMs: /^\d{1,10}$/.test(again) ? Number(again) : null }
}

const isMachine = (answeredBy: string): boolean => answeredBy.startsWith('machine') || answeredBy === 'fax'
/** The carrier's detection failed: it may be a machine. */
const UNCLEAR = 'unknown'

export const isOver = (status: string): boolean => ['completed', 'busy', 'no-answer', 'failed', 'canceled'].includes(status)

/** The call was answered by a person, or by something that the carrier cannot tell from a person, and it is over. */
export const isAnsweredEnd = (form: URLSearchParams): boolean =>
  form.get('CallStatus') === 'completed' && !isMachine(form.get('AnsweredBy') ?? '')

/**
 * The events that a call's status means, whether the carrier reported the status or was asked for it. The end of an answered call
 * does not say why it came: unheardEvents does, once the carrier was asked.
 */
export function statusEvents(query: CallbackQuery, form: URLSearchParams): CarrierEvent[] {
  const status = form.get('CallStatus') ?? ''
  if (['queued', 'initiated', 'ringing', 'in-progress'].includes(status) || isAnsweredEnd(form))
    return [report(query, form, { type: 'sent' })]
  if (status === 'busy') return [missed(query, form, 'busy', 'O número estava ocupado.')]
  if (status === 'no-answer') return [missed(query, form, 'no-answer', 'Ninguém atendeu.')]
  if (status === 'canceled') return [failed(query, form, 'rejected', 'A operadora cancelou a ligação.')]
  if (status === 'failed') {
    // The codes of SIP for a number that does not exist (RFC 3261, 21.4 and 21.6).
    const gone = ['404', '410', '484', '604'].includes(form.get('SipResponseCode') ?? '')
    return [
      gone
        ? failed(query, form, 'rejected', 'O número não existe.')
        : missed(query, form, 'rejected', 'A operadora não conseguiu completar a ligação.'),
    ]
  }
  return status === 'completed' ? [answeredByMachine(query, form, form.get('AnsweredBy') ?? '')] : []
}

/**
 * The events of a call that was answered and ended without the message. Where the carrier could not fetch a document from us, the failure
 * is ours and nothing is said about the person. `unfetched`: the carrier's code for that, or null.
 */
export function unheardEvents(query: CallbackQuery, form: URLSearchParams, unfetched: string | null): CarrierEvent[] {
  return [
    unfetched === null
      ? missed(query, form, 'no-answer', 'A ligação foi atendida e encerrada antes da mensagem.')
      : missed(query, form, 'rejected', `${UNSCRIPTED} (${unfetched}).`),
  ]
}

const UNSCRIPTED = 'Falha do gateway: a ligação foi atendida, mas a operadora não conseguiu obter dele o que falar'

/**
 * A call that nobody heard is made again while the plan lasts. After the last call a person may order another one, where the failure is
 * the carrier's or ours.
 */
function missed(query: CallbackQuery, form: URLSearchParams, failure: Failure, reason: string): CarrierReport {
  const { againMs } = query
  if (againMs === null) {
    const ended = failed(query, form, failure, reason)
    return failure === 'rejected' ? { ...ended, facts: { dead: true } } : ended
  }
  return report(query, form, { type: 'again', delayMs: againMs, reason })
}

const failed = (query: CallbackQuery, form: URLSearchParams, failure: Failure, reason: string): CarrierReport =>
  report(query, form, { type: 'failed', failure, reason })

function answeredByMachine(query: CallbackQuery, form: URLSearchParams, answeredBy: string): CarrierReport {
  if (answeredBy === 'fax') return failed(query, form, 'rejected', 'Um aparelho de fax atendeu.')
  const unclear = 'A operadora não soube se uma pessoa ou uma caixa postal atendeu; a mensagem não foi falada.'
  const machine = 'Uma caixa postal atendeu; ela não ouviu a mensagem.'
  return failed(query, form, 'machine', answeredBy === UNCLEAR ? unclear : machine)
}

export function recordingEvents({ reference }: CallbackQuery, form: URLSearchParams): CarrierEvent[] {
  const id = form.get('RecordingSid') ?? ''
  if (form.get('RecordingStatus') !== 'completed' || !/^[\w-]{1,64}$/.test(id)) return []
  const seconds = form.get('RecordingDuration') ?? ''
  return [{ kind: 'file', of: { ours: reference }, id, seconds: /^\d{1,6}$/.test(seconds) ? Number(seconds) : null }]
}

/**
 * The carrier asks for the next document of the call. An answering machine gets nothing of the message. The message is a document
 * of its own, requested when the greeting is over: a person who hangs up before that has heard nothing of it.
 */
function speak(
  query: CallbackQuery,
  form: URLSearchParams,
  url: string,
  { voice }: { voice: string | null },
  script: VoiceScript | 'lost' | null,
): Omit<CallbackContent, 'carriers'> {
  const document = (body: string) => ({ type: 'text/xml; charset=utf-8', body })
  if (script === null) return { events: [], answer: document(HANGUP) }
  if (script === 'lost') return { events: [missed(query, form, 'rejected', `${UNSCRIPTED}.`)], answer: document(HANGUP) }
  const answeredBy = form.get('AnsweredBy') ?? ''
  const next = (about: 'key' | 'message'): string => callbackUrl(url.split('?')[0]!, { ...query, about })
  // The script was rendered once more: the digest tells whether it is the content of the attempt.
  const { bytes } = callContent({ script })
  const said = { said: { sha256: sha256(bytes), size: bytes.length } }
  const message = () => ({
    events: [report(query, form, { type: 'delivered', facts: said })],
    answer: document(textDocument(script, voice)),
  })
  if (query.about === 'key' && form.get('Digits') === '1') return message()
  // A machine that was not recognised presses no key, and hears nothing of the message without one.
  if (script.key && !isMachine(answeredBy)) return { events: [], answer: document(keyDocument(script, next('key'), voice)) }
  if (isMachine(answeredBy) || answeredBy === UNCLEAR) {
    const body = answeredBy === 'fax' ? HANGUP : machineDocument(script, voice)
    return { events: [answeredByMachine(query, form, answeredBy)], answer: document(body) }
  }
  if (query.about === 'message') return message()
  return { events: [], answer: document(greetingDocument(script, next('message'), voice)) }
}

function report(
  { reference }: CallbackQuery,
  form: URLSearchParams,
  more: Pick<CarrierReport, 'type'> & Partial<CarrierReport>,
): CarrierReport {
  const sid = form.get('CallSid') ?? ''
  const at = Date.parse(form.get('Timestamp') ?? '')
  const fields = REPORTED_FIELDS.filter(name => form.has(name))
  return {
    kind: 'report',
    of: { ours: reference, ...(sid === '' ? {} : { carrier: [sid.slice(0, 64)] }) },
    at: Number.isNaN(at) ? null : new Date(at),
    answer: [sid.slice(0, 64), ...fields.map(name => `${name}=${form.get(name)!.slice(0, 40)}`)].join(' '),
    ...more,
  }
}
