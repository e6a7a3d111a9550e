import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import type { Clock } from '../../src/domain/clock.js'
import { planParts } from '../../src/domain/delivery/message-parts.js'
import { newId } from '../../src/domain/id.js'
import { AttemptCounter } from '../bounded-map.js'
import type { CallbackRoute, Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import { isGatewayKey } from '../gateway-key.js'
import { breakConnection, leaveUnanswered } from '../http/lost-answer.js'
import type { Report, Stamp } from '../message.js'
import { Pauses } from '../pauses.js'
import type { NewReport } from '../report-queue.js'
import { type Fate, fateOf, type ReceiptType } from './fates.js'
import type { SmsReports } from './recipient.js'
import type { Sms } from './sms.js'

export interface ZenviaParts {
  /** The API token. */
  key: string
  faults: FaultSwitch
  callbacks: Callbacks
  clock: Clock
  silenceMs: number
  accept(sms: Sms, raw: Buffer, fate: Fate): void
}

const BASE = '/carriers/zenvia'
const CODES: Record<ReceiptType, string> = {
  enroute: 'SENT',
  delivered: 'DELIVERED',
  undelivered: 'NOT_DELIVERED',
  expired: 'NOT_DELIVERED',
}

/** Zenvia's API v2 for SMS. */
export class Zenvia implements SmsReports {
  readonly #parts: ZenviaParts
  readonly #pauses = new Pauses()
  readonly #attempts = new AttemptCounter()

  constructor(parts: ZenviaParts) {
    this.#parts = parts
  }

  url(simulatorUrl: string): string {
    const { host } = new URL(simulatorUrl)
    return `zenvia://${this.#parts.key}@${host}${BASE}?from=simulador&secret=segredo-do-simulador&tls=off`
  }

  addRoutes(app: FastifyInstance): void {
    app.post(`${BASE}/v2/channels/sms/messages`, (request, reply) => this.#receive(request, reply))
  }

  receipt(sms: Sms, type: ReceiptType, afterMs: number): Report {
    return this.#send({ message: sms, type, status: CODES[type], afterMs }, stamp => ({
      type: 'MESSAGE_STATUS',
      messageId: sms.parts[0]!.id,
      contentIndex: 0,
      messageStatus: { timestamp: stamp.at.toISOString(), code: CODES[type] },
    }))
  }

  reply(sms: Sms, text: string, afterMs: number): Report {
    return this.#send({ message: sms, type: 'reply', afterMs }, stamp => ({
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
    }))
  }

  close(): void {
    this.#pauses.close()
  }

  #send(report: Omit<NewReport, 'faults'>, event: (stamp: Stamp) => object): Report {
    const { callbacks, faults } = this.#parts
    return callbacks.send({
      ...report,
      faults,
      compose: ({ secret }: CallbackRoute, stamp) => ({
        to: '/zenvia',
        headers: {
          'content-type': 'application/json',
          'x-carteiro-secret': simulatorSecret(Buffer.from(secret, 'hex'), 'zenvia'),
        },
        body: JSON.stringify({ id: stamp.id, timestamp: stamp.at.toISOString(), channel: 'sms', ...event(stamp) }),
      }),
    })
  }

  async #receive(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { faults, callbacks, silenceMs, accept } = this.#parts
    const refuse = (status: number, code: string, message: string) => reply.code(status).send({ code, message })
    const token = request.headers['x-api-token']
    if (typeof token !== 'string' || !isGatewayKey(token, this.#parts.key))
      return refuse(401, 'AUTHENTICATION_ERROR', 'No authentication token')
    const message = readMessage(request.body)
    if (message === null) return refuse(400, 'VALIDATION_ERROR', 'Validation error')
    const fate = fateOf(message.to)
    await this.#pauses.wait(faults.now.latencyMs)
    if (faults.now.outage || faults.drawError()) return refuse(503, 'UNAVAILABLE', 'Falha simulada')
    if (fate.refusal === 'number') return refuse(400, 'VALIDATION_ERROR', 'Invalid recipient')
    if (this.#isThrottled(message, fate)) return reply.header('retry-after', '1').code(429).send({ code: 'TOO_MANY_REQUESTS' })
    await callbacks.waitForCapacity()
    await this.#pauses.wait(fate.answersAfterMs ?? 0)
    const sms = this.#toSms(message)
    const reset = faults.now.resetAfterAccept || fate.breaksConnection === true
    if (reset || fate.silent) sms.answer = null
    accept(sms, Buffer.from(sms.text), fate)
    if (reset) return breakConnection(reply)
    if (fate.silent) return leaveUnanswered(reply, silenceMs)
    const { from, to, contents } = message
    return { id: sms.parts[0]!.id, from, to, direction: 'OUT', channel: 'sms', contents, timestamp: sms.receivedAt.toISOString() }
  }

  #isThrottled({ to, text }: ZenviaMessage, { throttledAttempts = 0 }: Fate): boolean {
    return throttledAttempts > 0 && this.#attempts.count(`${to} ${text}`) <= throttledAttempts
  }

  #toSms({ from, to, text }: ZenviaMessage): Sms {
    const { clock } = this.#parts
    const id = newId(clock())
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
      notification: null,
      answer: `200 ${id}`,
      reports: [],
      text,
      encoding: planParts(text).encoding,
      parts: [{ id, mark: null }],
      intermediate: true,
    }
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
