import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { OperatorError } from '../../../domain/errors.js'
import { type Carrier, type Provider, type Receipt, SendError } from '../../provider.js'
import { integerReader, refuseUnknown } from '../../url-options.js'
import type { Signer } from '../dkim/signer.js'
import type { EmailMessage } from '../email-message.js'
import type { Composer } from '../message/composer.js'
import { type Exchanger, isNullExchanger, type MailResolver } from '../resolver.js'
import { AllUnreachable, Destinations } from './destinations.js'
import { type Limits, type SmtpSession, type StepTimeouts, Unreachable } from './session.js'
import { SessionPool, START_TIMEOUT_MS } from './session-pool.js'
import { allowManyListeners, envelopeOf, prepare, readHelo, readPool, readTls, SEND_TIMEOUT_MS } from './smtp.js'

/**
 * Direct delivery to the recipient's mail exchanger: mx://our-host-name.
 * Options: port=25, tls=opportunistic|required|off, pool=connections per exchanger, rate=messages per second (of the lane),
 * private=yes (allows exchangers in private networks; without it a recipient's domain could point at a machine of our network).
 */
export interface MxOptions {
  resolver: MailResolver
  signer: Signer | null
  /** Composes large messages in a thread. By default the event loop composes every message. */
  compose?: Composer['compose']
  /** Trusted instead of the system's certificate authorities. */
  ca?: string
  /** Breaks ties between exchangers of the same priority. */
  random?: () => number
  timeouts?: Partial<StepTimeouts>
  /** The first pause of a destination that throttles or fails. */
  firstPauseMs?: number
}

/** Exchangers tried in one attempt. The next attempt starts with the first one again. */
const MAX_TARGETS = 4
const OPTIONS = ['port', 'tls', 'pool', 'private', 'rate']

interface Target {
  name: string
  address: string
}

interface Route {
  /** The key of its limits and pauses. */
  destination: string
  targets: Target[]
}

export function mxProvider(options: MxOptions): Provider<EmailMessage> {
  return {
    name: 'mx',
    channel: 'email',
    whenUnknown: 'safe',
    timeoutMs: SEND_TIMEOUT_MS,
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
  /**
   * By name and address, because a certificate is valid for one name and several names may share an address. A pool is removed
   * with its last connection.
   */
  readonly #pools = new Map<string, SessionPool>()
  readonly #destinations: Destinations
  #closed = false

  constructor(url: URL, options: MxOptions) {
    const wrong = (what: string): never => {
      throw new OperatorError(`EMAIL_URL: ${what}. Exemplo: mx://envio.example.com?tls=opportunistic`)
    }
    if (url.protocol !== 'mx:') wrong('deve começar com mx://')
    refuseUnknown(url, OPTIONS, wrong)
    const anyNetwork = url.searchParams.get('private') ?? 'no'
    if (anyNetwork !== 'yes' && anyNetwork !== 'no') wrong('private deve ser yes ou no')
    this.#options = options
    this.#helo = readHelo(url.hostname)
    this.#port = integerReader(url, wrong)('port', 25, 0, 65_535)
    this.#tls = readTls(url) ?? 'opportunistic'
    this.#size = readPool(url, wrong)
    this.#anyNetwork = anyNetwork === 'yes'
    const { random = Math.random, firstPauseMs } = options
    this.#destinations = new Destinations({ maxConcurrent: this.#size, random, firstPauseMs })
  }

  async send(message: EmailMessage, signal: AbortSignal): Promise<Receipt> {
    try {
      allowManyListeners(signal)
      // A pool that is made now would never be closed.
      if (this.#closed) throw new SendError('temporary', 'O envio de e-mails está sendo encerrado.')
      return await this.#deliver(message, signal)
    } catch (error) {
      throw error instanceof SendError && !(error instanceof AllUnreachable) ? scopedToMessage(error) : error
    }
  }

  async #deliver(message: EmailMessage, signal: AbortSignal): Promise<Receipt> {
    const { destination, targets } = await this.#route(message.to.slice(message.to.lastIndexOf('@') + 1))
    const reply = await this.#destinations.run(destination, signal, async () => {
      const raw = await prepare(message, this.#options)
      return this.#sendToFirstReachable(targets, signal, (session, limits) => session.send(envelopeOf(message), raw, limits))
    })
    return { references: [], answer: reply.text, delivered: true }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const pool of this.#pools.values()) pool.close()
  }

  /** Tries the targets in order. The answer of the first one that is reached is final. */
  async #sendToFirstReachable<T>(
    targets: Target[],
    signal: AbortSignal,
    work: (session: SmtpSession, limits: Limits) => Promise<T>,
  ): Promise<T> {
    const deadline = performance.now() + START_TIMEOUT_MS
    let unreached: unknown
    for (const target of targets) {
      let reached = false
      try {
        return await this.#pool(target).run(signal, (session, limits) => {
          reached = true
          return work(session, limits)
        })
      } catch (error) {
        // A server's refusal explains more than another server's missing connection.
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
    const { ca, timeouts } = this.#options
    const pool = new SessionPool({
      server: {
        host: name,
        address,
        port: this.#port,
        helo: this.#helo,
        tls: this.#tls,
        credentials: null,
        ca,
        timeouts,
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
    let unresolved = false
    const targets: Target[] = []
    for (const name of names) {
      if (targets.length >= MAX_TARGETS) break
      const answer = isIP(name) === 0 ? await this.#options.resolver.addresses(name) : { status: 'ok' as const, records: [name] }
      if (answer.status === 'unknown') unresolved = true
      if (answer.status === 'ok')
        targets.push(...answer.records.filter(address => this.#allows(address)).map(address => ({ name, address })))
    }
    if (targets.length > 0) return { destination: destinationOf(domain, found.records), targets: targets.slice(0, MAX_TARGETS) }
    if (unresolved) throw new SendError('temporary', 'O servidor do domínio do destinatário não pôde ser consultado.')
    throw new SendError('permanent', 'O domínio do destinatário não tem servidor que receba e-mails.')
  }

  /** RFC 5321 5.1: the lowest preference number first, equal ones in random order. */
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

/** Domains that share their preferred exchanger share its limits and pauses. */
function destinationOf(domain: string, records: readonly Exchanger[]): string {
  const first = Math.min(...records.map(({ priority }) => priority))
  const names = records.filter(({ priority }) => priority === first).map(({ exchange }) => exchange)
  return (names.sort()[0] ?? domain).toLowerCase()
}

function isPublic(text: string): boolean {
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  // IANA assigns global unicast addresses from 2000::/3 only. Other ranges include forms that embed an IPv4 address.
  return address instanceof ipaddr.IPv4 || address.parts[0]! >> 13 === 1
}

/** The failure of one domain's server must not open the circuit breaker for the other domains. */
const scopedToMessage = ({ kind, reason, answer, retryAfterMs, untried, cause }: SendError): SendError =>
  new SendError(kind, reason, { answer, retryAfterMs, scope: 'message', untried, cause })
