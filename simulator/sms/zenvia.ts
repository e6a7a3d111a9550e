import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../src/domain/clock.js'
import { newId } from '../../src/domain/id.js'
import { simulatorSecret } from '../../src/domain/keys.js'
import { planParts } from '../../src/domain/message-parts.js'
import { BoundedCache } from '../../src/runtime/bounded-cache.js'
import type { CallbackRoute, Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import type { Report, Stamp } from '../message.js'
import { type Fate, fateOf } from './fates.js'
import type { Teller } from './phones.js'
import type { Sms } from './sms.js'
import type { ReportType } from './words.js'

/** Zenvia's API v2 for SMS, as far as a sender meets it. */
export interface ZenviaParts {
  faults: FaultSwitch
  callbacks: Callbacks
  clock: Clock
  take(sms: Sms, raw: Buffer, fate: Fate): void
}

const BASE = '/carriers/zenvia'
const MAX_COUNTED = 10_000
const MAX_WAITING = 1_000
const CODES: Partial<Record<ReportType, string>> = {
  enroute: 'SENT',
  delivered: 'DELIVERED',
  undelivered: 'NOT_DELIVERED',
  expired: 'NOT_DELIVERED',
}

export function openZenvia({ faults, callbacks, clock, take }: ZenviaParts) {
  const stop = new AbortController()
  const tries = new BoundedCache<string, number>({ maxEntries: MAX_COUNTED })
  let waiting = 0

  async function pause(ms: number): Promise<void> {
    if (ms === 0 || waiting >= MAX_WAITING) return
    waiting++
    await sleep(ms, undefined, { signal: stop.signal }).catch(() => {})
    waiting--
  }

  async function receive(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const refuse = (status: number, code: string, message: string) => reply.code(status).send({ code, message })
    if (typeof request.headers['x-api-token'] !== 'string') return refuse(401, 'AUTHENTICATION_ERROR', 'No authentication token')
    const message = readMessage(request.body)
    if (message === null) return refuse(400, 'VALIDATION_ERROR', 'Validation error')
    const fate = fateOf(message.to)
    await pause(faults.now.latencyMs)
    if (faults.now.outage || faults.drawError()) return refuse(503, 'UNAVAILABLE', 'Falha simulada')
    if (fate.refusal === 'number') return refuse(400, 'VALIDATION_ERROR', 'Invalid recipient')
    if (isTooFast(message, fate)) return reply.header('retry-after', '1').code(429).send({ code: 'TOO_MANY_REQUESTS' })
    await callbacks.room()
    await pause(fate.answersAfterMs ?? 0)
    const sms = toSms(message)
    const reset = faults.now.resetAfterAccept || fate.breaks === true
    if (reset || fate.silent) sms.answer = null
    take(sms, Buffer.from(sms.text), fate)
    if (fate.silent) await pause(300_000)
    if (reset || fate.silent) {
      reply.hijack()
      return request.raw.socket.destroy()
    }
    const { from, to, contents } = message
    return { id: sms.parts[0]!.id, from, to, direction: 'OUT', channel: 'sms', contents, timestamp: sms.receivedAt.toISOString() }
  }

  function isTooFast({ to, text }: ZenviaMessage, { throttledTries = 0 }: Fate): boolean {
    if (throttledTries === 0) return false
    const key = `${to} ${text}`
    const made = (tries.get(key) ?? 0) + 1
    tries.set(key, made)
    return made <= throttledTries
  }

  function toSms({ from, to, text }: ZenviaMessage): Sms {
    const id = newId(clock())
    const { encoding } = planParts(text)
    return {
      id,
      channel: 'sms',
      via: 'zenvia',
      receivedAt: new Date(clock()),
      to: `+${to}`,
      from,
      fromName: '',
      subject: text,
      reference: `${to} ${text}`,
      answer: `200 ${id}`,
      reports: [],
      text,
      encoding,
      parts: [{ id, mark: null }],
    }
  }

  const tell = (message: Sms, type: ReportType, afterMs: number, event: (stamp: Stamp) => object): Report =>
    callbacks.send({
      message,
      faults,
      type,
      status: CODES[type] ?? null,
      afterMs,
      compose: ({ secret }: CallbackRoute, stamp) => ({
        to: '/zenvia',
        headers: {
          'content-type': 'application/json',
          'x-carteiro-secret': simulatorSecret(Buffer.from(secret, 'hex'), 'zenvia'),
        },
        body: JSON.stringify({ id: stamp.id, timestamp: stamp.at.toISOString(), channel: 'sms', ...event(stamp) }),
      }),
    })

  const teller: Teller = {
    receipt: (sms, type, afterMs) =>
      tell(sms, type, afterMs, stamp => ({
        type: 'MESSAGE_STATUS',
        messageId: sms.parts[0]!.id,
        contentIndex: 0,
        messageStatus: { timestamp: stamp.at.toISOString(), code: CODES[type] },
      })),
    reply: (sms, text, afterMs) =>
      tell(sms, 'reply', afterMs, stamp => ({
        type: 'MESSAGE',
        direction: 'IN',
        message: {
          id: stamp.id,
          from: sms.to.slice(1),
          to: sms.from,
          direction: 'IN',
          channel: 'sms',
          contents: [{ type: 'text', text }],
        },
      })),
  }

  return {
    teller,
    url: (simulatorUrl: string): string => {
      const { host } = new URL(simulatorUrl)
      return `zenvia://simulador@${host}${BASE}?from=simulador&secret=segredo-do-simulador&tls=off`
    },
    addRoutes: (app: FastifyInstance): void => {
      app.post(`${BASE}/v2/channels/sms/messages`, receive)
    },
    close: () => stop.abort(),
  }
}

interface ZenviaMessage {
  from: string
  to: string
  text: string
  contents: unknown
}

function readMessage(body: unknown): ZenviaMessage | null {
  const { from, to, contents } = (body ?? {}) as { from?: unknown; to?: unknown; contents?: unknown }
  const first = Array.isArray(contents) ? (contents[0] as { type?: unknown; text?: unknown } | undefined) : undefined
  if (typeof from !== 'string' || typeof to !== 'string' || !/^\d{8,15}$/.test(to)) return null
  return first?.type === 'text' && typeof first.text === 'string' ? { from, to, text: first.text, contents } : null
}
