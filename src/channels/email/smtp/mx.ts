import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { OperatorError } from '../../../domain/errors.js'
import { type Carrier, type Facts, type Provider, SendError } from '../../provider.js'
import type { ProviderModule } from '../../provider-module.js'
import { integerReader, refuseUnknown } from '../../url-options.js'
import type { Signer } from '../dkim/signer.js'
import type { EmailMessage } from '../email-message.js'
import type { Composed, Composer } from '../message/composer.js'
import { type Exchanger, isNullExchanger, type MailResolver } from '../resolver.js'
import { AllUnreachable, Destinations } from './destinations.js'
import { type StepTimeouts, Unreachable } from './session.js'
import { SessionPool, START_TIMEOUT_MS } from './session-pool.js'
import {
  allowManyListeners,
  handOver,
  MESSAGES_PER_CONNECTION,
  prepare,
  readHelo,
  readPool,
  readTls,
  SEND_TIMEOUT_MS,
  sentContent,
} from './smtp.js'

export interface MxOptions {
  resolver: MailResolver
  signer: Signer | null
  /** Composes messages in a thread. By default the event loop composes them. */
  compose?: Composer['compose']
  /** Trusted instead of the system's certificate authorities. */
  ca?: string
  /** Breaks ties between exchangers of the same priority. */
  random?: () => number
  timeouts?: Partial<StepTimeouts>
  /** The first pause of a destination that throttles or fails. */
  firstPauseMs?: number
  waitMs?: number
  responsiveMs?: number
}

/** Exchangers tried in one attempt. The next attempt starts with the first one again. */
const MAX_TARGETS = 4

interface Target {
  name: string
  address: string
}

/**
 * Direct delivery to the recipient's mail exchanger: mx://our-host-name.
 * Options: port=25, tls=opportunistic|required|off, pool=connections per exchanger, rate=messages per second (of the lane),
 * private=yes (allows exchangers in private networks; without it a recipient's domain could point at a machine of our network).
 */
export const mxProvider = (options: MxOptions): Provider<EmailMessage> => ({
  name: 'mx',
  channel: 'email',
  whenUnknown: 'safe',
  timeoutMs: SEND_TIMEOUT_MS,
  open: async url => openDirect(url, options),
})

export const mx: ProviderModule<EmailMessage, MxOptions> = {
  create: mxProvider,
  concurrency: url => MESSAGES_PER_CONNECTION * readMxUrl(url).size,
}

function openDirect(url: URL, options: MxOptions): Carrier<EmailMessage> {
  const { helo, port, tls, size, anyNetwork } = readMxUrl(url)
  const { resolver, ca, random = Math.random, timeouts, firstPauseMs, waitMs, responsiveMs } = options
  const destinations = new Destinations({ maxConcurrent: size, random, firstPauseMs, waitMs, responsiveMs })
  /**
   * By name and address, because a certificate is valid for one name and several names may share an address. A pool is removed
   * with its last connection.
   */
  const pools = new Map<string, SessionPool>()
  const composed = new WeakMap<EmailMessage, Composed>()
  let closed = false

  function poolOf({ name, address }: Target): SessionPool {
    const key = `${name} ${address}`
    const known = pools.get(key)
    if (known !== undefined) return known
    const server = { host: name, address, port, helo, tls, credentials: null, ca, timeouts }
    const pool = new SessionPool({ server, size, onEmpty: () => pools.delete(key) })
    pools.set(key, pool)
    return pool
  }

  /** Tries the targets in order. The answer of the first one that is reached is final. */
  async function sendToFirstReachable(
    targets: Target[],
    message: EmailMessage,
    raw: Buffer,
    signal: AbortSignal,
  ): Promise<{ answer: string; facts: Facts }> {
    const deadline = performance.now() + START_TIMEOUT_MS
    let unreached: unknown
    for (const target of targets) {
      let reached = false
      try {
        return await poolOf(target).run(signal, (session, limits) => {
          reached = true
          return handOver(session, message, raw, limits)
        })
      } catch (error) {
        // A server's refusal explains more than another server's missing connection.
        if (unreached === undefined || !(error instanceof Unreachable)) unreached = error
        if (reached || signal.aborted || deadline <= performance.now()) break
      }
    }
    throw unreached
  }

  return {
    async send(message, signal) {
      try {
        allowManyListeners(signal)
        // A pool that is made now would never be closed.
        if (closed) throw new SendError('temporary', 'O envio de e-mails está sendo encerrado.')
        const domain = message.to.slice(message.to.lastIndexOf('@') + 1)
        const { destination, targets } = await findRoute(domain, resolver, random, anyNetwork)
        const { answer, facts } = await destinations.run(destination, signal, async () => {
          const prepared = await prepare(message, options)
          composed.set(message, prepared)
          return sendToFirstReachable(targets, message, prepared.raw, signal)
        })
        return { references: [], answer, delivered: true, facts }
      } catch (error) {
        throw error instanceof SendError && !(error instanceof AllUnreachable) ? scopedToMessage(error) : error
      }
    },
    contentOf: message => sentContent(message, composed.get(message)),
    async close() {
      closed = true
      for (const pool of pools.values()) pool.close()
    },
  }
}

function readMxUrl(url: URL) {
  const wrong = (what: string): never => {
    throw new OperatorError(`EMAIL_URL: ${what}. Exemplo: mx://envio.example.com?tls=opportunistic`)
  }
  if (url.protocol !== 'mx:') wrong('deve começar com mx://')
  refuseUnknown(url, ['port', 'tls', 'pool', 'private', 'rate'], wrong)
  const anyNetwork = url.searchParams.get('private') ?? 'no'
  if (anyNetwork !== 'yes' && anyNetwork !== 'no') wrong('private deve ser yes ou no')
  return {
    helo: readHelo(url.hostname),
    port: integerReader(url, wrong)('port', 25, 0, 65_535),
    tls: readTls(url) ?? 'opportunistic',
    size: readPool(url, wrong),
    anyNetwork: anyNetwork === 'yes',
  }
}

/** `destination` is the key of the limits and pauses: domains that share their preferred exchanger share them. */
async function findRoute(domain: string, resolver: MailResolver, random: () => number, anyNetwork: boolean) {
  const found = await resolver.exchangers(domain)
  if (found.status === 'unknown') throw new SendError('temporary', 'O domínio do destinatário não pôde ser consultado.')
  if (found.status === 'missing') throw new SendError('permanent', 'O domínio do destinatário não existe.')
  if (isNullExchanger(found.records))
    throw new SendError('permanent', 'O domínio do destinatário declara que não recebe e-mails.')
  let unresolved = false
  const targets: Target[] = []
  for (const name of found.records.length === 0 ? [domain] : inOrder(found.records, random)) {
    if (targets.length >= MAX_TARGETS) break
    const answer = isIP(name) === 0 ? await resolver.addresses(name) : { status: 'ok' as const, records: [name] }
    if (answer.status === 'unknown') unresolved = true
    const addresses = answer.status === 'ok' ? answer.records : []
    targets.push(...addresses.filter(address => anyNetwork || isPublic(address)).map(address => ({ name, address })))
  }
  if (targets.length > 0) return { destination: destinationOf(domain, found.records), targets: targets.slice(0, MAX_TARGETS) }
  if (unresolved) throw new SendError('temporary', 'O servidor do domínio do destinatário não pôde ser consultado.')
  throw new SendError('permanent', 'O domínio do destinatário não tem servidor que receba e-mails.')
}

/** RFC 5321 5.1: the lowest preference number first, equal ones in random order. */
const inOrder = (records: readonly Exchanger[], random: () => number): string[] =>
  records
    .map(record => ({ ...record, lot: random() }))
    .sort((a, b) => a.priority - b.priority || a.lot - b.lot)
    .map(({ exchange }) => exchange)

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
const scopedToMessage = ({ kind, reason, answer, retryAfterMs, untried, facts, cause }: SendError): SendError =>
  new SendError(kind, reason, { answer, retryAfterMs, scope: 'message', untried, facts, cause })
