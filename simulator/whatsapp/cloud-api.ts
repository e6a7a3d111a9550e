import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { parseUntrustedJson } from '../../src/domain/text/json.js'
import { AttemptCounter } from '../bounded-map.js'
import type { Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import { isGatewayKey } from '../gateway-key.js'
import { breakConnection, leaveUnanswered } from '../http/lost-answer.js'
import type { Inbox } from '../inbox.js'
import { notificationIn } from '../message.js'
import { type Fate, fateOf } from './fates.js'
import { faultBody, GraphFault } from './graph-fault.js'
import type { Recipient } from './recipient.js'
import { wamidOf } from './reports.js'
import { readSendRequest, type SendRequest } from './send-request.js'
import type { ShownTexts } from './shown-texts.js'
import { lineOf, PHONE_NUMBER, PHONE_NUMBER_ID, type TemplateMessage, VERSION, waIdOf } from './template-message.js'

export interface CloudApiParts {
  /** The access token. */
  key: string
  inbox: Inbox
  callbacks: Callbacks
  recipient: Recipient
  faults: FaultSwitch
  clock: Clock
  silenceMs: number
  texts: ShownTexts
}

type ByPhone = { Params: { phone: string } }

/** POST /v23.0/{phone number id}/messages. */
export function addCloudApi(app: FastifyInstance, parts: CloudApiParts): void {
  const attempts = new AttemptCounter()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error, _request, reply) => {
    const fault = error instanceof GraphFault ? error : new GraphFault(100, (error as Error).message)
    if (fault.status === 429) reply.header('retry-after', '1')
    return reply.code(fault.status).send(faultBody(fault, newId(parts.clock())))
  })
  app.post<ByPhone>(`/${VERSION}/:phone/messages`, async ({ params, headers, body }, reply) => {
    const { faults, callbacks } = parts
    if (faults.now.outage) throw new GraphFault(131016)
    if (!isGatewayKey(headers.authorization, `Bearer ${parts.key}`)) throw new GraphFault(190)
    if (params.phone !== PHONE_NUMBER_ID) throw new GraphFault(33)
    const raw = body as Buffer
    const request = readSendRequest(parseUntrustedJson(raw))
    if (faults.drawError()) throw new GraphFault(131000)
    const fate = fateOf(request.to)
    checkFate(fate, request, attempts)
    await callbacks.waitForCapacity()
    const message = accept(request, raw, parts)
    parts.recipient.receive(message, fate)
    return answer(message, fate, reply, parts)
  })
}

/** Some fates refuse every attempt, others only the first attempts to send the same message. */
function checkFate({ refusal }: Fate, { reference, to }: SendRequest, attempts: AttemptCounter): void {
  if (refusal === undefined) return
  const { code, attempts: refused = Number.POSITIVE_INFINITY } = refusal
  if (attempts.count(reference ?? to) <= refused) throw new GraphFault(code)
}

function accept(request: SendRequest, raw: Buffer, { clock, inbox, texts }: CloudApiParts): TemplateMessage {
  const { to, template, language, header, body, links, reference } = request
  const id = newId(clock())
  const text = texts.find(reference)
  const message: TemplateMessage = {
    id,
    channel: 'whatsapp',
    receivedAt: new Date(clock()),
    to: `+${to}`,
    from: PHONE_NUMBER,
    fromName: '',
    subject: lineOf({ template, header, body, text }),
    reference,
    notification: notificationIn(reference),
    answer: null,
    reports: [],
    wamid: wamidOf(id),
    waId: waIdOf(to),
    template,
    language,
    header,
    body,
    links,
    text,
  }
  inbox.add({ message, raw }, raw.length)
  inbox.record(message, { wamid: message.wamid })
  return message
}

async function answer(message: TemplateMessage, fate: Fate, reply: FastifyReply, parts: CloudApiParts): Promise<FastifyReply> {
  const { faults, silenceMs } = parts
  if (faults.now.resetAfterAccept) return breakConnection(reply)
  if (fate.silent) return leaveUnanswered(reply, silenceMs)
  const closed = new AbortController()
  reply.raw.once('close', () => closed.abort())
  const waitMs = Math.max(faults.now.latencyMs, fate.answersAfterMs ?? 0)
  if (waitMs > 0) await sleep(waitMs, undefined, { signal: closed.signal, ref: false }).catch(() => {})
  if (closed.signal.aborted) return breakConnection(reply)
  message.answer = `200 ${message.wamid}`
  return reply.send({
    messaging_product: 'whatsapp',
    contacts: [{ input: message.to.slice(1), wa_id: message.waId }],
    messages: [{ id: message.wamid, message_status: 'accepted' }],
  })
}
