import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { parseUntrustedJson } from '../../src/domain/json.js'
import { BoundedCache } from '../../src/runtime/bounded-cache.js'
import type { Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import type { Inbox } from '../inbox.js'
import { type Fate, fateOf } from './fates.js'
import { faultBody, GraphFault } from './graph-fault.js'
import type { Person } from './person.js'
import { wamidOf } from './reports.js'
import { readSendRequest, type SendRequest } from './send-request.js'
import { lineOf, PHONE_NUMBER, PHONE_NUMBER_ID, type TemplateMessage, TOKEN, VERSION, waIdOf } from './template-message.js'

/** The Cloud API: POST /v23.0/{phone number id}/messages. */
export interface CarrierParts {
  inbox: Inbox
  callbacks: Callbacks
  person: Person
  faults: FaultSwitch
  clock: Clock
  silenceMs: number
}

type ByPhone = { Params: { phone: string } }

/** Messages whose tries are counted at a time. */
const MAX_COUNTED = 10_000

export function addCloudApi(app: FastifyInstance, parts: CarrierParts): void {
  const tries = new BoundedCache<string, number>({ maxEntries: MAX_COUNTED })
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
    if (headers.authorization !== `Bearer ${TOKEN}`) throw new GraphFault(190)
    if (params.phone !== PHONE_NUMBER_ID) throw new GraphFault(33)
    const raw = body as Buffer
    const sending = readSendRequest(parseUntrustedJson(raw))
    if (faults.drawError()) throw new GraphFault(131000)
    const fate = fateOf(sending.to)
    if (isRefused(fate, sending.reference ?? sending.to, tries)) throw new GraphFault(fate.refusal!.code)
    await callbacks.room()
    const message = take(sending, raw, parts)
    parts.person.receive(message, fate)
    return answer(message, fate, reply, parts)
  })
}

/** Refused for good, or for the first tries of the same message. */
function isRefused({ refusal }: Fate, key: string, tries: BoundedCache<string, number>): boolean {
  if (refusal === undefined) return false
  if (refusal.tries === undefined) return true
  const before = tries.get(key) ?? 0
  tries.delete(key)
  if (before >= refusal.tries) return false
  tries.set(key, before + 1)
  return true
}

function take(
  { to, template, language, header, body, links, reference }: SendRequest,
  raw: Buffer,
  parts: CarrierParts,
): TemplateMessage {
  const { clock, inbox } = parts
  const id = newId(clock())
  const message: TemplateMessage = {
    id,
    channel: 'whatsapp',
    receivedAt: new Date(clock()),
    to: `+${to}`,
    from: PHONE_NUMBER,
    fromName: '',
    subject: lineOf(template, header, body),
    reference,
    answer: null,
    reports: [],
    wamid: wamidOf(id),
    waId: waIdOf(to),
    template,
    language,
    header,
    body,
    links,
  }
  inbox.add({ message, raw }, raw.length)
  inbox.record(message, { wamid: message.wamid })
  return message
}

async function answer(message: TemplateMessage, fate: Fate, reply: FastifyReply, parts: CarrierParts): Promise<FastifyReply> {
  const { faults, silenceMs } = parts
  const hangUp = (): FastifyReply => {
    reply.hijack()
    reply.raw.destroy()
    return reply
  }
  if (faults.now.resetAfterAccept) return hangUp()
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const waitMs = fate.silent ? silenceMs : Math.max(faults.now.latencyMs, fate.answersAfterMs ?? 0)
  if (waitMs > 0) await sleep(waitMs, undefined, { signal: gone.signal, ref: false }).catch(() => {})
  if (fate.silent || gone.signal.aborted) return hangUp()
  const sent = {
    messaging_product: 'whatsapp',
    contacts: [{ input: message.to.slice(1), wa_id: message.waId }],
    messages: [{ id: message.wamid, message_status: 'accepted' }],
  }
  message.answer = `200 ${message.wamid}`
  return reply.send(sent)
}
