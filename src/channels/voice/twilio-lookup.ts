import { MIB } from '../../domain/units.js'
import { CarrierHttp, objectOf } from '../carrier-http.js'
import { type CarrierEvent, type Found, SendError } from '../provider.js'
import { basicAuth, readTwilioAccount, type TwilioAccount } from './twilio-account.js'
import { type CallbackQuery, isAnsweredEnd, isOver, recordingEvents, statusEvents, unheardEvents } from './twilio-callback.js'
import type { CallPlan } from './voice-message.js'

/** The gateway's own knowledge of calls, which a lookup compares with the carrier's. */
export interface LookupParts {
  /** The calls among these that belong to deliveries already. */
  findKnown(names: readonly string[]): Promise<Set<string>>
  /** Other notifications with a call to this number that is being made now or has an unknown outcome. */
  findRivals(reference: string, to: string): Promise<readonly string[]>
  readPlan(reference: string): Promise<CallPlan>
  /** Takes the events of a call that was found and is over. */
  onEvents(events: readonly CarrierEvent[]): Promise<void>
}

type ListedCall = Record<string, unknown>

/** The carrier's clock may be behind ours. */
const CLOCK_SKEW_MS = 5 * 60_000
const PAGE = 100
const MAX_LIST = 4 * MIB
const TIMEOUT_MS = 30_000
const UNANSWERED = 'A operadora de voz não respondeu à consulta.'
/** The answers of a carrier that does not have the resource. */
const MISSING = [404, 405, 410, 501]
/** Final statuses of a recording. */
const MADE = ['completed', 'absent', 'failed', 'deleted']

/**
 * Asks a Twilio-compatible carrier about a call that it may have taken. Calls do not carry our reference. A call may be the one that is
 * looked for if it went to this number, from ours, since the notification was accepted, and belongs to no other delivery. No call: the
 * carrier never took it. One call: that is it, unless it may belong to another notification too. Several calls: the outcome stays
 * unknown.
 */
export async function findCall(
  http: CarrierHttp,
  own: TwilioAccount,
  { findKnown, findRivals, readPlan, onEvents }: LookupParts,
  reference: string,
  to: string,
  signal: AbortSignal,
): Promise<Found> {
  const read = reader(http, signal)
  const recent = await listCalls(read, own, to, reference)
  // In this order: a notification with a call in the list is by now either a rival or the known owner of that call.
  const rivals = await findRivals(reference, to)
  const known = await findKnown(recent.map(call => String(call.sid)))
  const [found, another] = recent.filter(call => !known.has(String(call.sid)))
  if (found === undefined) return 'unknown'
  if (another !== undefined) throw new SendError('temporary', 'Há mais de uma ligação que pode ser a procurada.')
  if (rivals.some(rival => mayBeOf(rival, found)))
    throw new SendError('temporary', 'A ligação encontrada pode ser a de outra notificação ao mesmo número.')
  // The carrier's reports may have been lost together with its answer.
  if (isOver(String(found.status))) await onEvents(await eventsOf(read, own, found, reference, await readPlan(reference)))
  return { references: [String(found.sid)], answer: `${found.sid} ${found.status}` }
}

/** The calls to this number from ours that may be of the reference. */
async function listCalls(read: Reader, account: TwilioAccount, to: string, reference: string): Promise<ListedCall[]> {
  const query = new URLSearchParams({ To: to, From: account.from, PageSize: String(PAGE) })
  const { calls } = (await read(account, `Calls.json?${query}`)) ?? {}
  if (!Array.isArray(calls)) throw unanswered()
  if (calls.length >= PAGE && !reachesBack(calls, reference))
    throw new SendError('temporary', 'Há ligações demais a este número para saber qual é a procurada.')
  return calls.filter(call => mayBeOf(reference, call))
}

/** Whether a full page, newest first, holds every call that may be of the reference: the calls that it leaves out are older than its last. */
function reachesBack(calls: readonly ListedCall[], reference: string): boolean {
  const times = calls.map(({ date_created }) => Date.parse(String(date_created)))
  const isNewestFirst = times.every((time, place) => place === 0 || time <= times[place - 1]!)
  return isNewestFirst && !mayBeOf(reference, calls.at(-1)!)
}

/** Asks for the result of a call by the carrier's name for it. `over`: nothing more will follow. */
export async function askCall(
  http: CarrierHttp,
  url: URL,
  name: string,
  reference: string,
  readPlan: LookupParts['readPlan'],
  signal: AbortSignal,
): Promise<{ events: CarrierEvent[]; over: boolean }> {
  const [read, account] = [reader(http, signal), readTwilioAccount(url)]
  const path = `Calls/${encodeURIComponent(name)}`
  const call = await read(account, `${path}.json`)
  if (call === null) return { events: [], over: false }
  const plan = await readPlan(reference)
  const events = await eventsOf(read, account, call, reference, plan)
  if (!isOver(String(call.status))) return { events, over: false }
  if (call.status !== 'completed' || !account.record) return { events, over: true }
  const { recordings: listed } = (await read(account, `${path}/Recordings.json`)) ?? {}
  if (!Array.isArray(listed)) throw unanswered()
  const recordings = listed.map(({ sid, status, duration }) =>
    formFrom({ RecordingSid: sid, RecordingStatus: status, RecordingDuration: duration }),
  )
  const over = recordings.length > 0 && recordings.every(form => MADE.includes(form.get('RecordingStatus') ?? ''))
  const query = queryOf(reference, plan)
  return { events: [...events, ...recordings.flatMap(form => recordingEvents(query, form))], over }
}

const queryOf = (reference: string, { againMs }: CallPlan): CallbackQuery => ({ about: 'status', reference, againMs })

/** The events of a call's present status. Of an answered call that ended unheard the carrier is asked whether it could fetch our documents. */
async function eventsOf(
  read: Reader,
  account: TwilioAccount,
  call: ListedCall,
  reference: string,
  plan: CallPlan,
): Promise<CarrierEvent[]> {
  const query = queryOf(reference, plan)
  const form = formOf(call)
  if (!isAnsweredEnd(form) || plan.heard) return statusEvents(query, form)
  return unheardEvents(query, form, await findUnfetched(read, account, String(call.sid)))
}

/** The requests for a document of a call; other requests of the carrier that failed say nothing about what the person heard. */
const DOCUMENT_URL = /[?&]about=(script|key|message)(&|$)/

/** The carrier's code of an error while it fetched (11xxx) or read (12xxx) a document of ours; null: it tells of none. */
async function findUnfetched(read: Reader, account: TwilioAccount, sid: string): Promise<string | null> {
  const answer = await read(account, `Calls/${encodeURIComponent(sid)}/Notifications.json?Log=0&PageSize=${PAGE}`)
  // Not every compatible carrier has this list.
  const notifications: unknown[] = Array.isArray(answer?.notifications) ? answer.notifications : []
  const errors = notifications as { error_code?: unknown; request_url?: unknown }[]
  const error = errors.find(
    ({ error_code, request_url }) => /^1[12]\d{3}$/.test(String(error_code)) && DOCUMENT_URL.test(String(request_url)),
  )
  return error === undefined ? null : String(error.error_code)
}

type Reader = ReturnType<typeof reader>

/** Reads a resource of an account; null: it does not exist. */
const reader = (http: CarrierHttp, signal: AbortSignal) => async (account: TwilioAccount, path: string) => {
  const headers = { authorization: basicAuth(account) }
  const answer = await http.send({ method: 'GET', url: `${account.baseUrl}/${path}`, headers }, signal)
  if (MISSING.includes(answer.status)) return null
  if (answer.status < 200 || answer.status > 299 || !answer.complete) throw unanswered()
  return objectOf(answer) ?? {}
}

/** The connections over which carriers are asked about calls. */
export const lookupHttp = (): CarrierHttp =>
  new CarrierHttp({ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_LIST, reasons: { unsent: UNANSWERED, unanswered: UNANSWERED } })

const unanswered = (): SendError => new SendError('temporary', UNANSWERED)

/** The fields of the callback that the carrier would have sent. */
function formOf({ sid, status, answered_by, duration, start_time, end_time }: ListedCall): URLSearchParams {
  const times = { CallDuration: duration, Timestamp: end_time ?? start_time }
  return formFrom({ CallSid: sid, CallStatus: status, AnsweredBy: answered_by, ...times })
}

function formFrom(fields: Record<string, unknown>): URLSearchParams {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  return new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))
}

/** No call was made before its notification was accepted. A UUIDv7 begins with the millisecond at which it was made. */
function mayBeOf(reference: string, { date_created }: ListedCall): boolean {
  const acceptedAt = Number.parseInt(reference.slice(0, 13).replace('-', ''), 16)
  return !(Date.parse(String(date_created)) < acceptedAt - CLOCK_SKEW_MS)
}
