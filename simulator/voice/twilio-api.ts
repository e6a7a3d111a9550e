import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import type { FaultSwitch } from '../faults.js'
import { isGatewayKey } from '../gateway-key.js'
import { breakConnection, leaveUnanswered } from '../http/lost-answer.js'
import { readForm } from '../http/readers.js'
import type { Inbox, StoredMessage } from '../inbox.js'
import { notificationIn } from '../message.js'
import { type Call, type CallOrder, callSid, type FetchError, idOfSid, recordingSid } from './call.js'
import { findFate, reactionOf } from './fates.js'
import { soundOf } from './sound.js'
import type { Telephone } from './telephone.js'

export interface TwilioApiParts {
  inbox: Inbox
  telephone: Telephone
  faults: FaultSwitch
  clock: Clock
  silenceMs: number
  account: string
  token: string
}

const PAGE = 100
const MAX_INLINE_TWIML = 4_000
const DETECTIONS = ['Enable', 'DetectMessageEnd'] as const

class TwilioError extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** The part of Twilio's REST API that places calls and fetches recordings. */
export function addTwilioApi(app: FastifyInstance, parts: TwilioApiParts): void {
  const { inbox, faults, silenceMs } = parts
  const base = '/2010-04-01/Accounts/:account'
  app.setErrorHandler((error, _request, reply) => {
    const { status, code, message } = error instanceof TwilioError ? error : new TwilioError(500, 20500, (error as Error).message)
    if (status === 429) reply.header('retry-after', '1')
    return reply.code(status).send({ code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status })
  })
  app.addHook('preHandler', async request => {
    authenticate(request, parts)
    if (faults.now.outage) throw new TwilioError(503, 20503, 'Fora do ar.')
  })

  app.post(`${base}/Calls.json`, async (request, reply) => {
    if (faults.drawError()) throw new TwilioError(503, 20503, 'Erro sorteado.')
    const call = accept(readForm(request.body), parts)
    if (faults.now.latencyMs > 0) await sleep(faults.now.latencyMs)
    if (faults.now.resetAfterAccept) return breakConnection(reply)
    if (findFate(call.to).silent) return leaveUnanswered(reply, silenceMs)
    call.answer = `201 ${call.sid}`
    return reply.code(201).send(describe(call))
  })
  app.get(`${base}/Calls.json`, async request => {
    const query = request.query as Record<string, string>
    // Read from the log, because the inbox drops old messages: a call that is missing here would be placed twice.
    const calls = inbox.log
      .filter(entry => entry.channel === 'voice' && (query.To === undefined || entry.to === query.To))
      .slice(-PAGE)
      .reverse()
    return {
      calls: calls.map(({ id, to, receivedAt }) => {
        const stored = inbox.find(id) as StoredMessage<Call> | null
        if (stored !== null) return describe(stored.message)
        return { sid: callSid(id), to, status: 'completed', date_created: receivedAt.toUTCString() }
      }),
      page_size: PAGE,
    }
  })
  app.get<{ Params: { call: string } }>(`${base}/Calls/:call`, async ({ params }) => {
    return describe(findCall(params.call.replace(/\.json$/, ''), inbox))
  })
  app.get<{ Params: { call: string } }>(`${base}/Calls/:call/Recordings.json`, async ({ params }) => {
    const call = findCall(params.call, inbox)
    const duration = String(call.durationSeconds)
    return { recordings: call.recorded ? [{ sid: recordingSid(call), call_sid: call.sid, status: 'completed', duration }] : [] }
  })
  app.get<{ Params: { call: string } }>(`${base}/Calls/:call/Notifications.json`, async ({ params }) => {
    const { sid, errors } = findCall(params.call, inbox)
    return { notifications: errors.map(error => describeError(sid, error)), page_size: PAGE }
  })
  app.get<{ Params: { recording: string } }>(`${base}/Recordings/:recording`, async ({ params }, reply) => {
    const { recorded, said } = findCall(params.recording.replace(/\.wav$/, ''), inbox)
    if (!recorded) throw new TwilioError(404, 20404, 'Não existe.')
    return reply.type('audio/x-wav').send(await soundOf(said))
  })
}

function findCall(sid: string, inbox: Inbox): Call {
  const id = idOfSid(sid)
  const stored = id === null ? null : (inbox.find(id) as StoredMessage<Call> | null)
  if (stored === null || stored.message.channel !== 'voice') throw new TwilioError(404, 20404, 'Não existe.')
  return stored.message
}

function authenticate({ headers, params }: FastifyRequest, { account, token }: TwilioApiParts): void {
  const right = isGatewayKey(headers.authorization, `Basic ${Buffer.from(`${account}:${token}`).toString('base64')}`)
  if (!right || (params as { account?: string }).account !== account) throw new TwilioError(401, 20003, 'Conta ou token errado.')
}

function accept(form: URLSearchParams, { inbox, telephone, clock }: TwilioApiParts): Call {
  const [to, from] = [form.get('To') ?? '', form.get('From') ?? '']
  if (!/^\+\d{8,15}$/.test(to)) throw new TwilioError(400, 21211, 'O número de destino (To) não é válido.')
  if (!/^\+\d{8,15}$/.test(from)) throw new TwilioError(400, 21212, 'O número de origem (From) não é válido.')
  const order = readOrder(form)
  if (order.url === null && order.twiml === null) throw new TwilioError(400, 21205, 'Falta Url ou Twiml.')
  if ((order.twiml ?? '').length > MAX_INLINE_TWIML) throw new TwilioError(400, 21218, 'Twiml passa de 4000 caracteres.')
  const fate = findFate(to)
  if (fate.refusal !== undefined) throw new TwilioError(fate.refusal.status, fate.refusal.code, fate.refusal.message)
  const id = newId(clock())
  const reference = referenceIn(order.statusCallback)
  const call: Call = {
    id,
    channel: 'voice',
    receivedAt: new Date(clock()),
    to,
    from,
    fromName: '',
    subject: `Ligação para ${to}`,
    reference,
    notification: notificationIn(reference),
    answer: null,
    reports: [],
    sid: callSid(id),
    status: 'queued',
    order,
    answeredBy: null,
    said: [],
    errors: [],
    durationSeconds: null,
    recorded: false,
    sequence: 0,
    started: false,
  }
  const raw = Buffer.from(form.toString())
  inbox.add({ message: call, raw }, 2 * raw.length)
  inbox.record(call, { sid: call.sid })
  telephone.ring(call, reactionOf(fate, Number(/\.(\d{1,4})$/.exec(reference ?? '')?.[1] ?? 1)))
  return call
}

function readOrder(form: URLSearchParams): CallOrder {
  const text = (name: string): string | null => form.get(name) || null
  return {
    twiml: text('Twiml'),
    url: text('Url'),
    fallbackUrl: text('FallbackUrl'),
    statusCallback: text('StatusCallback'),
    statusEvents: form.has('StatusCallbackEvent') ? form.getAll('StatusCallbackEvent') : ['completed'],
    record: form.get('Record') === 'true',
    recordingCallback: text('RecordingStatusCallback'),
    machineDetection: DETECTIONS.find(known => known === text('MachineDetection')) ?? null,
  }
}

/** The sender's reference is in the URL of its status callback. */
const referenceIn = (url: string | null): string | null =>
  url === null || !URL.canParse(url) ? null : new URL(url).searchParams.get('ref')

const describe = (call: Call): Record<string, unknown> => ({
  sid: call.sid,
  status: call.status,
  to: call.to,
  from: call.from,
  direction: 'outbound-api',
  answered_by: call.answeredBy,
  duration: call.durationSeconds === null ? null : String(call.durationSeconds),
  date_created: call.receivedAt.toUTCString(),
  recording_sid: call.recorded ? recordingSid(call) : null,
})

const describeError = (sid: string, { code, url, at }: FetchError): Record<string, unknown> => ({
  call_sid: sid,
  log: '0',
  error_code: code,
  request_url: url,
  message_date: at.toUTCString(),
})
