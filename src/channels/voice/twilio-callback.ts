import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Callback, CallbackContent, CallbackRequest, CarrierEvent, CarrierReport } from '../provider.js'
import { greetingDocument, HANGUP, keyDocument, machineDocument, textDocument } from './twiml.js'
import type { VoiceScript } from './voice-message.js'

/** The callbacks of a Twilio-compatible carrier: status reports, recordings, and requests for the next document of a call. */
export interface TwilioCallbackOptions {
  name: string
  /** The accounts that sign callbacks, each with its token. */
  accounts: readonly { token: string; voice: string | null }[]
  /** The script of a call; null: there is no such call. */
  findScript(reference: string): Promise<VoiceScript | null>
}

/** Names the call that a callback is about. It is part of the callback's address, which the carrier signs. */
export interface CallbackQuery {
  about: (typeof TOPICS)[number]
  reference: string
  againMs: number | null
}

const TOPICS = ['status', 'script', 'key', 'message', 'recording'] as const

export function callbackUrl(base: string, { about, reference, againMs }: CallbackQuery): string {
  const query = new URLSearchParams({ about, ref: reference })
  if (againMs !== null) query.set('again', String(againMs))
  return `${base}?${query}`
}

export function twilioCallback({ name, accounts, findScript }: TwilioCallbackOptions): Callback {
  return {
    name,
    channel: 'voice',
    async read(request) {
      const form = new URLSearchParams(request.body.toString('utf8'))
      const account = accounts.find(({ token }) => isSigned(request, form, token))
      if (account === undefined) return null
      const query = readQuery(request.url)
      if (query === null) return { events: [] }
      switch (query.about) {
        case 'status':
          return { events: statusEvents(query, form) }
        case 'recording':
          return { events: recordingEvents(query, form) }
        default:
          return speak(query, form, request.url, account, await findScript(query.reference))
      }
    },
  }
}

/** X-Twilio-Signature: base64 of HMAC-SHA1 over the whole address and every parameter, sorted, name and value joined. */
export function twilioSignature(url: string, form: URLSearchParams, token: string): string {
  const names = [...new Set(form.keys())].sort()
  const text = names
    .map(name =>
      [...new Set(form.getAll(name))]
        .sort()
        .map(value => name + value)
        .join(''),
    )
    .join('')
  return createHmac('sha1', token)
    .update(url + text)
    .digest('base64')
}

function isSigned({ method, url, headers }: CallbackRequest, form: URLSearchParams, token: string): boolean {
  const given = headers['x-twilio-signature']
  if (method !== 'POST' || typeof given !== 'string') return false
  return spellings(url).some(spelling => isEqual(given, twilioSignature(spelling, form, token)))
}

/** Carriers differ in whether the signed address has a port. */
function spellings(url: string): string[] {
  const { protocol, port } = new URL(url)
  const [, origin = '', rest = ''] = /^([^/]+\/\/(?:\[[^\]]*\]|[^/:?#]*))(?::\d*)?(.*)$/.exec(url) ?? []
  return [`${origin}${rest}`, `${origin}:${port || (protocol === 'https:' ? 443 : 80)}${rest}`]
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
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
/** The carrier listened and could not tell: it may be a machine. */
const UNCLEAR = 'unknown'

/** Whether a call of this status has ended. */
export const isOver = (status: string): boolean => ['completed', 'busy', 'no-answer', 'failed', 'canceled'].includes(status)

/** The events that a call's status means, whether the carrier reported the status or was asked for it. */
export function statusEvents(query: CallbackQuery, form: URLSearchParams): CarrierEvent[] {
  const status = form.get('CallStatus') ?? ''
  switch (status) {
    case 'queued':
    case 'initiated':
    case 'ringing':
    case 'in-progress':
      return [report(query, form, { type: 'sent' })]
    case 'completed':
      return [ended(query, form)]
    case 'busy':
      return [missed(query, form, 'busy', 'O número estava ocupado.')]
    case 'no-answer':
      return [missed(query, form, 'no-answer', 'Ninguém atendeu.')]
    case 'failed':
    case 'canceled': {
      const reason = status === 'failed' ? failureReason(form) : 'A operadora cancelou a ligação.'
      return [report(query, form, { type: 'failed', failure: 'rejected', reason })]
    }
    default:
      return []
  }
}

/** A call that ended. The carrier asks for the message document when a person is to hear it; a call without that request was not heard. */
function ended(query: CallbackQuery, form: URLSearchParams): CarrierReport {
  const answeredBy = form.get('AnsweredBy') ?? ''
  // A person who hangs up while the carrier still listens is reported as unknown too, and did not hear the message.
  if (isMachine(answeredBy)) return answeredByMachine(query, form, answeredBy)
  return missed(query, form, 'no-answer', 'Alguém atendeu e desligou antes de ouvir a mensagem.')
}

function answeredByMachine(query: CallbackQuery, form: URLSearchParams, answeredBy: string): CarrierReport {
  const failed = (failure: 'rejected' | 'machine', reason: string): CarrierReport =>
    report(query, form, { type: 'failed', failure, reason })
  if (answeredBy === 'fax') return failed('rejected', 'Um aparelho de fax atendeu.')
  if (answeredBy === UNCLEAR)
    return failed('machine', 'A operadora não soube se uma pessoa ou uma caixa postal atendeu; a mensagem não foi falada.')
  return failed('machine', 'Uma caixa postal atendeu; ela não ouviu a mensagem.')
}

/** Called again while the account's plan lasts. */
const missed = (query: CallbackQuery, form: URLSearchParams, failure: 'busy' | 'no-answer', reason: string): CarrierReport =>
  query.againMs === null
    ? report(query, form, { type: 'failed', failure, reason })
    : report(query, form, { type: 'again', delayMs: query.againMs, reason })

/** SIP's own words for a number that is not one (RFC 3261, 21.4 and 21.6). */
const failureReason = (form: URLSearchParams): string =>
  ['404', '410', '484', '604'].includes(form.get('SipResponseCode') ?? '')
    ? 'O número não existe.'
    : 'A operadora não conseguiu completar a ligação.'

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
  speech: { voice: string | null },
  script: VoiceScript | null,
): CallbackContent {
  const document = (body: string) => ({ type: 'text/xml; charset=utf-8', body })
  if (script === null) return { events: [], answer: document(HANGUP) }
  const answeredBy = form.get('AnsweredBy') ?? ''
  const next = (about: 'key' | 'message'): string => callbackUrl(url.split('?')[0]!, { ...query, about })
  const message = () => ({
    events: [report(query, form, { type: 'delivered' })],
    answer: document(textDocument(script, speech)),
  })
  if (query.about === 'key' && form.get('Digits') === '1') return message()
  // A machine that was not recognised presses no key, and hears nothing of the message without one.
  if (script.key && !isMachine(answeredBy)) return { events: [], answer: document(keyDocument(script, next('key'), speech)) }
  if (isMachine(answeredBy) || answeredBy === UNCLEAR) {
    const body = answeredBy === 'fax' ? HANGUP : machineDocument(script, speech)
    return { events: [answeredByMachine(query, form, answeredBy)], answer: document(body) }
  }
  if (query.about === 'message') return message()
  return { events: [], answer: document(greetingDocument(script, next('message'), speech)) }
}

function report(
  { reference }: CallbackQuery,
  form: URLSearchParams,
  more: Pick<CarrierReport, 'type'> & Partial<CarrierReport>,
): CarrierReport {
  const sid = form.get('CallSid') ?? ''
  const told = Date.parse(form.get('Timestamp') ?? '')
  const words = ['CallStatus', 'AnsweredBy', 'CallDuration', 'SipResponseCode', 'SequenceNumber', 'Digits']
  return {
    kind: 'report',
    of: { ours: reference, ...(sid === '' ? {} : { carrier: [sid.slice(0, 64)] }) },
    at: Number.isNaN(told) ? null : new Date(told),
    answer: [
      sid.slice(0, 64),
      ...words.flatMap(word => (form.has(word) ? [`${word}=${form.get(word)!.slice(0, 40)}`] : [])),
    ].join(' '),
    ...more,
  }
}
