import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import type { Clock } from '../../src/domain/clock.js'
import { Refusal } from '../../src/domain/errors.js'
import { sha256 } from '../../src/domain/evidence/evidence.js'
import { newId } from '../../src/domain/id.js'
import { brazilianIso } from '../../src/domain/text/dates.js'
import { MIB } from '../../src/domain/units.js'
import { AttemptCounter, BoundedMap } from '../bounded-map.js'
import type { CallbackRoute, Callbacks } from '../callbacks.js'
import type { FaultSwitch } from '../faults.js'
import { requireGateway } from '../gateway-key.js'
import { breakConnection, leaveUnanswered } from '../http/lost-answer.js'
import type { Inbox } from '../inbox.js'
import { notificationIn, type Stamp } from '../message.js'
import { SimulatorError } from '../simulator-error.js'
import { type Fate, findFate, formatPostcode } from './fates.js'
import { type Letter, type LetterOrder, readOrder } from './letter.js'
import type { PostOffice } from './post-office.js'

const ROOT = '/simulator/carriers/grafica'
const MAX_BODY = 64 * MIB
/** Orders that are remembered, so that a repeated order is recognised. */
const MAX_KNOWN = 100_000
const MAX_TIMERS = 20_000
const PRINTED_MS = { processing: 150, prepared: 500, posted: 1_000 }
const REFUSED_ATTEMPTS = {
  'deferred twice': { attempts: 2, status: 503 },
  'throttled once': { attempts: 1, status: 429 },
} as const

export interface PrintShopParts {
  /** The token of the account. */
  key: string
  inbox: Inbox
  callbacks: Callbacks
  faults: FaultSwitch
  post: PostOffice
  clock: Clock
  silenceMs: number
}

interface KnownOrder {
  letter: Letter
  sha256: string
}

/** A print shop with the API of docs/carta.md: it takes orders, posts the letters and reports each step. */
export class PrintShop {
  readonly #parts: PrintShopParts
  readonly #known = new BoundedMap<KnownOrder>(MAX_KNOWN)
  readonly #attempts = new AttemptCounter()
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(parts: PrintShopParts) {
    this.#parts = parts
  }

  url(simulatorUrl: string): string {
    const { protocol, host } = new URL(simulatorUrl)
    return `print+${protocol}//${this.#parts.key}@${host}${ROOT}`
  }

  addRoutes(app: FastifyInstance): void {
    app.setErrorHandler((error, _request, reply) => answerError(error, reply))
    app.post(`${ROOT}/cartas`, { bodyLimit: MAX_BODY }, async (request, reply) => {
      requireGateway(request, this.#parts.key)
      return this.#order(request, reply)
    })
    app.get<{ Params: { reference: string } }>(`${ROOT}/cartas/:reference`, async (request, reply) => {
      requireGateway(request, this.#parts.key)
      if (this.#parts.faults.now.outage) throw new SimulatorError(503, 'Gráfica fora do ar.')
      const known = this.#known.get(request.params.reference)
      return known === undefined ? reply.code(404).send({ situacao: 'desconhecida' }) : describe(known.letter)
    })
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
  }

  async #order(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { faults, callbacks, clock, silenceMs } = this.#parts
    const { outage, latencyMs } = faults.now
    if (outage || faults.drawError()) throw new SimulatorError(503, 'Gráfica fora do ar.')
    await callbacks.waitForCapacity()
    const { order, pdf, sha256: claimed } = readOrder(readBody(request.body))
    if (request.headers['idempotency-key'] !== order.reference)
      throw new SimulatorError(422, 'A Idempotency-Key deve ser a referencia.')
    if (sha256(pdf) !== claimed) throw new SimulatorError(422, 'O campo documento.sha256 não confere com o documento.')
    const fate = findFate(order.recipient.postcode)
    const known = this.#known.get(order.reference)
    if (known !== undefined) {
      if (known.sha256 !== claimed) throw new SimulatorError(409, 'Esta referencia já foi usada com outra carta.')
      return describe(known.letter)
    }
    this.#checkFate(order.reference, fate)
    const letter = toLetter(order, clock)
    this.#accept(letter, pdf, claimed, fate)
    // The letter is accepted before the delay: a sender that gives up meanwhile must not find it missing.
    if (latencyMs > 0) await sleep(latencyMs)
    if (faults.now.resetAfterAccept || fate?.printing === 'answer lost') {
      letter.answer = null
      return breakConnection(reply)
    }
    if (fate?.printing === 'silent') {
      letter.answer = null
      return leaveUnanswered(reply, silenceMs)
    }
    return reply.code(201).send(describe(letter))
  }

  #checkFate(reference: string, fate: Fate | null): void {
    const printing = fate?.printing
    if (printing === 'refused') throw new SimulatorError(422, 'Endereço fora da área atendida pela gráfica.')
    if (printing !== 'deferred twice' && printing !== 'throttled once') return
    const { attempts, status } = REFUSED_ATTEMPTS[printing]
    if (this.#attempts.count(reference) <= attempts) throw new SimulatorError(status, 'Gráfica ocupada, tente de novo.')
  }

  #accept(letter: Letter, pdf: Buffer, hash: string, fate: Fate | null): void {
    const { inbox } = this.#parts
    this.#known.set(letter.order.reference, { letter, sha256: hash })
    inbox.add({ message: letter, raw: pdf })
    inbox.record(letter)
    this.#report(letter, 'processando', PRINTED_MS.processing)
    if (fate?.printing === 'refused later') {
      this.#report(letter, 'recusada', PRINTED_MS.prepared, { motivo: 'O documento não pôde ser impresso' })
      return
    }
    this.#report(letter, 'preparada', PRINTED_MS.prepared)
    this.#schedule(PRINTED_MS.posted, () => {
      this.#parts.post.post(letter)
      this.#report(letter, 'postada', 0, letter.code === null ? {} : { sro: letter.code })
    })
  }

  #report(letter: Letter, situation: string, afterMs: number, more: Record<string, string> = {}): void {
    const { callbacks, faults, clock } = this.#parts
    const compose = (route: CallbackRoute, stamp: Stamp) => {
      const body = JSON.stringify({
        id: letter.id,
        referencia: letter.order.reference,
        situacao: situation,
        em: brazilianIso(stamp.at),
        ...more,
      })
      return { to: '/print-shop', headers: signed(route, body, clock()), body }
    }
    callbacks.send({ message: letter, faults, type: situation, afterMs, compose })
  }

  #schedule(ms: number, work: () => void): void {
    // With too many timers the letter is posted at once: a letter that is never posted would be lost.
    if (this.#timers.size >= MAX_TIMERS) {
      work()
      return
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      work()
    }, ms)
    this.#timers.add(timer)
  }
}

const toLetter = (order: LetterOrder, clock: Clock): Letter => ({
  id: newId(clock()),
  channel: 'letter',
  receivedAt: new Date(clock()),
  to: `${order.recipient.name}, ${formatPostcode(order.recipient.postcode)}`,
  from: order.sender.city === '' ? order.sender.name : `${order.sender.city} – ${order.sender.state}`,
  fromName: order.sender.name,
  subject: order.subject,
  reference: order.reference,
  notification: notificationIn(order.reference),
  answer: '201',
  reports: [],
  order,
  code: null,
  tracking: [],
})

const describe = ({ id, order, code }: Letter) => ({
  id,
  referencia: order.reference,
  situacao: code === null ? 'aceita' : 'postada',
  ...(code === null ? {} : { sro: code }),
})

const readBody = (body: unknown): Record<string, unknown> => {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new SimulatorError(422, 'O pedido deve ser um objeto JSON.')
  return body as Record<string, unknown>
}

/** Signed with the time of sending, so that the gateway does not refuse a callback that waited long as a replay. */
function signed({ secret }: CallbackRoute, body: string, now: number): Record<string, string> {
  const own = simulatorSecret(Buffer.from(secret, 'hex'), 'print-shop')
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac('sha256', own).update(`${timestamp}.${body}`).digest('hex')
  return { 'content-type': 'application/json', 'carteiro-timestamp': timestamp, 'carteiro-signature': `v1=${signature}` }
}

function answerError(error: unknown, reply: FastifyReply): FastifyReply {
  if (error instanceof SimulatorError) {
    if (error.status === 429) reply.header('retry-after', '1')
    return reply.code(error.status).send({ mensagem: error.message })
  }
  if (error instanceof Refusal) return reply.code(422).send({ mensagem: error.message })
  const { statusCode = 500, message } = error as { statusCode?: number; message: string }
  return reply.code(statusCode).send({ mensagem: message })
}
