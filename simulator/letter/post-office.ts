import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../src/domain/clock.js'
import { checkDigit } from '../../src/domain/delivery/tracking-code.js'
import { newId } from '../../src/domain/id.js'
import { HOUR_MS } from '../../src/domain/units.js'
import { BoundedMap } from '../bounded-map.js'
import { isGatewayKey } from '../gateway-key.js'
import { SimulatorError } from '../simulator-error.js'
import { DELIVERY, findFate, type PostEvent } from './fates.js'
import type { Letter, TrackingEntry } from './letter.js'

const USER = 'simulador'
const TOKEN_MS = HOUR_MS
const MAX_OBJECTS = 50
const MAX_TRACKED = 20_000
const ROOT = '/simulator/carriers/correios'

/** The post: delivers the letters of the print shop in seconds instead of days, and answers tracking requests. */
export class PostOffice {
  readonly #clock: Clock
  readonly #byCode = new BoundedMap<Letter>(MAX_TRACKED)
  readonly #key: string
  readonly #token: string
  #serial: number

  /** `key`: the access code of the account. */
  constructor(clock: Clock, key: string) {
    this.#clock = clock
    this.#key = key
    this.#token = newId(clock())
    this.#serial = Math.floor(clock() / 100) % 100_000_000
  }

  /** Only registered letters get a code and a tracking. */
  post(letter: Letter): void {
    const now = this.#clock()
    if (letter.order.layout !== 'registrada') return
    const code = this.#nextCode()
    const steps = findFate(letter.order.recipient.postcode)?.post ?? DELIVERY
    letter.code = code
    letter.tracking = steps.map(step => toEntry(step, now + step.afterMs))
    this.#byCode.set(code, letter)
  }

  /** Adds an event now and cancels the future events of the letter's fate. */
  write(letter: Letter, event: PostEvent): void {
    const now = this.#clock()
    letter.tracking = [...letter.tracking.filter(({ at }) => at.getTime() < now), toEntry(event, now)]
  }

  /** The events until now, newest first. */
  known(letter: Letter): TrackingEntry[] {
    const now = this.#clock()
    return letter.tracking.filter(({ at }) => at.getTime() <= now).reverse()
  }

  url(simulatorUrl: string): string {
    const { protocol, host } = new URL(simulatorUrl)
    return `${protocol}//${USER}:${this.#key}@${host}${ROOT}?cartao=0000000000`
  }

  addRoutes(app: FastifyInstance): void {
    app.post(`${ROOT}/token/v1/autentica/cartaopostagem`, async (request, reply) => {
      const expected = `Basic ${Buffer.from(`${USER}:${this.#key}`).toString('base64')}`
      if (!isGatewayKey(request.headers.authorization, expected))
        throw new SimulatorError(401, 'Usuário ou código de acesso inválido.')
      return reply.code(201).send({ token: this.#token, expiraEm: brazilian(this.#clock() + TOKEN_MS) })
    })
    app.get(`${ROOT}/srorastro/v1/objetos`, async request => ({ versao: '1.1', objetos: this.#objects(request) }))
  }

  #objects(request: FastifyRequest): object[] {
    if (request.headers.authorization !== `Bearer ${this.#token}`) throw new SimulatorError(401, 'Token inválido.')
    const { codigosObjetos } = request.query as { codigosObjetos?: unknown }
    const codes = typeof codigosObjetos === 'string' ? codigosObjetos.split(',') : []
    if (codes.length === 0 || codes.length > MAX_OBJECTS) throw new SimulatorError(400, `Informe de 1 a ${MAX_OBJECTS} objetos.`)
    return codes.map(code => {
      const letter = this.#byCode.get(code)
      if (letter === undefined)
        return { codObjeto: code, mensagem: 'SRO-020: Objeto não encontrado na base de dados dos Correios.' }
      const eventos = this.known(letter).map(({ code: codigo, type: tipo, at, text: descricao }) => ({
        codigo,
        tipo,
        dtHrCriado: brazilian(at.getTime()),
        descricao,
      }))
      return { codObjeto: code, eventos }
    })
  }

  #nextCode(): string {
    this.#serial = (this.#serial + 1) % 100_000_000
    const serial = String(this.#serial).padStart(8, '0')
    return `YJ${serial}${checkDigit(serial)}BR`
  }
}

const toEntry = ({ code, type, text }: PostEvent, at: number): TrackingEntry => ({
  code,
  type,
  text,
  at: new Date(at),
})

/** The post writes the time of Brasília without a zone. */
const brazilian = (at: number): string => new Date(at - 3 * HOUR_MS).toISOString().slice(0, 19)
