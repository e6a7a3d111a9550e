import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { OperatorError } from '../../../domain/errors.js'
import { type Carrier, type EmailMessage, type Provider, type Receipt, SendError } from '../../provider.js'
import { refuseUnknown } from '../../url-options.js'
import type { Signer } from '../dkim/signer.js'
import type { Composer } from '../message/composer.js'
import { type Exchanger, isNullExchanger, type MailResolver } from '../resolver.js'
import { CutOff, Destinations } from './destinations.js'
import { type Limits, type Patience, type SmtpSession, Unreachable } from './session.js'
import { REACH_MS, SessionPool } from './session-pool.js'
import { envelopeOf, LONGEST_MS, prepare, readHelo, readPool, readTls, shareable } from './smtp.js'

/**
 * E-mail straight to the recipient's own exchanger: mx://our-name.
 * Options: port=25, tls=opportunistic|required|off, pool=connections an exchanger, private=yes (exchangers in private
 * networks too; otherwise anybody's domain could point us at a machine beside us), rate=messages a second (of the lane).
 */
export interface MxOptions {
  resolver: MailResolver
  signer: Signer | null
  /** Makes what is large elsewhere. Default: everything is made on the spot. */
  compose?: Composer['compose']
  /** Trusted instead of the usual authorities. */
  ca?: string
  /** Breaks ties between exchangers of the same priority. */
  random?: () => number
  patience?: Partial<Patience>
  /** How long a destination that asks for less, or fails, is first left alone. */
  firstRestMs?: number
}

/** Exchangers tried for one message; the next try starts over. */
const MAX_TARGETS = 4
const OPTIONS = ['port', 'tls', 'pool', 'private', 'rate']

interface Target {
  name: string
  address: string
}

interface Route {
  /** What its limits and pauses go by. */
  destination: string
  targets: Target[]
}

export function mxProvider(options: MxOptions): Provider<EmailMessage> {
  return {
    name: 'mx',
    channel: 'email',
    whenUnknown: 'safe',
    timeoutMs: LONGEST_MS,
    open: async url => new DirectCarrier(url, options),
  }
}

class DirectCarrier implements Carrier<EmailMessage> {
  readonly #options: MxOptions
  readonly #helo: string
  readonly #port: number
  readonly #tls: 'required' | 'opportunistic' | 'off'
  readonly #size: number
  readonly #anyNetwork: boolean
  /** By name and address, gone when their last connection is: a certificate is good for one name, whoever shares its address. */
  readonly #pools = new Map<string, SessionPool>()
  readonly #destinations: Destinations
  #closed = false

  constructor(url: URL, options: MxOptions) {
    const wrong = (what: string): never => {
      throw new OperatorError(`EMAIL_URL: ${what}. Exemplo: mx://envio.example.com?tls=opportunistic`)
    }
    if (url.protocol !== 'mx:') wrong('deve começar com mx://')
    refuseUnknown(url, OPTIONS, wrong)
    const port = url.searchParams.get('port') ?? '25'
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) wrong('port deve ser uma porta, de 0 a 65535')
    const anyNetwork = url.searchParams.get('private') ?? 'no'
    if (anyNetwork !== 'yes' && anyNetwork !== 'no') wrong('private deve ser yes ou no')
    this.#options = options
    this.#helo = readHelo(url.hostname)
    this.#port = Number(port)
    this.#tls = readTls(url) ?? 'opportunistic'
    this.#size = readPool(url)
    this.#anyNetwork = anyNetwork === 'yes'
    const { random = Math.random, firstRestMs } = options
    this.#destinations = new Destinations({ places: this.#size, random, ...(firstRestMs === undefined ? {} : { firstRestMs }) })
  }

  async send(message: EmailMessage, signal: AbortSignal): Promise<Receipt> {
    try {
      shareable(signal)
      // A pool that is made now would never be closed.
      if (this.#closed) throw new SendError('temporary', 'O envio de e-mails está sendo encerrado.')
      return await this.#deliver(message, signal)
    } catch (error) {
      throw error instanceof SendError && !(error instanceof CutOff) ? ofThisDomain(error) : error
    }
  }

  async #deliver(message: EmailMessage, signal: AbortSignal): Promise<Receipt> {
    const { destination, targets } = await this.#route(message.to.slice(message.to.lastIndexOf('@') + 1))
    const reply = await this.#destinations.visit(destination, signal, async () => {
      const raw = await prepare(message, this.#options)
      return this.#toFirst(targets, signal, (session, limits) => session.send(envelopeOf(message), raw, limits))
    })
    return { references: [], answer: reply.text, delivered: true }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const pool of this.#pools.values()) pool.close()
  }

  /** One after the other until one is reached; from then on its answer counts. */
  async #toFirst<T>(
    targets: Target[],
    signal: AbortSignal,
    work: (session: SmtpSession, limits: Limits) => Promise<T>,
  ): Promise<T> {
    const deadline = performance.now() + REACH_MS
    let unreached: unknown
    for (const target of targets) {
      let reached = false
      try {
        return await this.#pool(target).run(signal, (session, limits) => {
          reached = true
          return work(session, limits)
        })
      } catch (error) {
        // What a server said tells more than that another one could not be reached.
        if (unreached === undefined || !(error instanceof Unreachable)) unreached = error
        if (reached || signal.aborted || deadline <= performance.now()) break
      }
    }
    throw unreached
  }

  #pool({ name, address }: Target): SessionPool {
    const key = `${name} ${address}`
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const { ca, patience } = this.#options
    const pool = new SessionPool({
      server: {
        host: name,
        address,
        port: this.#port,
        helo: this.#helo,
        tls: this.#tls,
        credentials: null,
        ...(ca === undefined ? {} : { ca }),
        ...(patience === undefined ? {} : { patience }),
      },
      size: this.#size,
      onEmpty: () => this.#pools.delete(key),
    })
    this.#pools.set(key, pool)
    return pool
  }

  async #route(domain: string): Promise<Route> {
    const found = await this.#options.resolver.exchangers(domain)
    if (found.status === 'unknown') throw new SendError('temporary', 'O domínio do destinatário não pôde ser consultado.')
    if (found.status === 'missing') throw new SendError('permanent', 'O domínio do destinatário não existe.')
    if (isNullExchanger(found.records))
      throw new SendError('permanent', 'O domínio do destinatário declara que não recebe e-mails.')
    const names = found.records.length === 0 ? [domain] : this.#order(found.records)
    let undecided = false
    const targets: Target[] = []
    for (const name of names) {
      if (targets.length >= MAX_TARGETS) break
      const answer = isIP(name) === 0 ? await this.#options.resolver.addresses(name) : { status: 'ok' as const, records: [name] }
      if (answer.status === 'unknown') undecided = true
      if (answer.status === 'ok')
        targets.push(...answer.records.filter(address => this.#allows(address)).map(address => ({ name, address })))
    }
    if (targets.length > 0) return { destination: destinationOf(domain, found.records), targets: targets.slice(0, MAX_TARGETS) }
    if (undecided) throw new SendError('temporary', 'O servidor do domínio do destinatário não pôde ser consultado.')
    throw new SendError('permanent', 'O domínio do destinatário não tem servidor que receba e-mails.')
  }

  /** RFC 5321 5.1: lowest number first, equals in any order. */
  #order(records: readonly Exchanger[]): string[] {
    const { random = Math.random } = this.#options
    return records
      .map(({ priority, exchange }) => ({ priority, exchange, lot: random() }))
      .sort((a, b) => a.priority - b.priority || a.lot - b.lot)
      .map(({ exchange }) => exchange)
  }

  #allows(address: string): boolean {
    return this.#anyNetwork || isPublic(address)
  }
}

/** Domains that share their first exchanger share its patience. */
function destinationOf(domain: string, records: readonly Exchanger[]): string {
  const first = Math.min(...records.map(({ priority }) => priority))
  const names = records.filter(({ priority }) => priority === first).map(({ exchange }) => exchange)
  return (names.sort()[0] ?? domain).toLowerCase()
}

function isPublic(text: string): boolean {
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  // 2000::/3 is all that is given out; the rest holds forms with an IPv4 address inside.
  return address instanceof ipaddr.IPv4 || address.parts[0]! >> 13 === 1
}

/** One domain's server, however slow or angry, says nothing about the others. */
const ofThisDomain = ({ kind, reason, answer, retryAfterMs, untried, cause }: SendError): SendError =>
  new SendError(kind, reason, {
    ...(answer === null ? {} : { answer }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    scope: 'message',
    untried,
    cause,
  })
