import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isForbiddenAddress, isLoopbackAddress, type TargetRules } from '../domain/access/target-address.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import type { Exchange } from './connection.js'
import { ConnectionPool } from './connection-pool.js'
import { createNameLookup, type ResolveName } from './name-lookup.js'
import { HeadersTooLarge, MalformedResponse, ResponseReader } from './response-reader.js'

export type Outbound = ReturnType<typeof openOutbound>

export interface Reply {
  status: number
  headers: Readonly<Record<string, string>>
  /** The first bytes of the body. */
  body: Buffer
}

/** No response came. The message gives the reason in Portuguese. */
export class NoResponse extends Error {}

export interface OutboundOptions extends TargetRules {
  timeoutMs: number
  /** Replaces the system's name servers. */
  resolve?: ResolveName | undefined
  /** Trusted instead of the system's certificate authorities. */
  ca?: string
}

const CONNECT_TIMEOUT_MS = 5_000
/** An ordinary response is read to its end, so that its connection can be reused. */
const LIMITS = { maxHeaderBytes: 16_384, maxBodyBytes: 65_536, keptBodyBytes: 4_096 }
const KEEP_ALIVE_MS = 15_000

/**
 * HTTP to URLs of users. Every address of a name is checked when the connection is made, and only a checked address is used, so
 * that a URL cannot reach our own network. Redirects are not followed; time and bytes are limited.
 */
export function openOutbound(options: OutboundOptions) {
  const { timeoutMs, resolve = createNameLookup(), ca } = options
  const plain = guardedConnector(false, options, resolve, ca)
  const secure = guardedConnector(true, options, resolve, ca)
  const pools = new Map<string, ConnectionPool>()
  let closed = false
  const openPool = ({ origin, address }: Target): ConnectionPool => {
    const connect = address.protocol === 'https:' ? secure : plain
    const pool = new ConnectionPool({
      // The connector says undefined where its types say null.
      connect: done => connect(address, (error, socket) => done(error ?? null, socket ?? null)),
      idleMs: KEEP_ALIVE_MS,
      onEmpty: () => {
        if (pools.get(origin) === pool) pools.delete(origin)
      },
    })
    pools.set(origin, pool)
    return pool
  }
  return {
    request(method: 'POST' | 'PUT', url: string, headers: Record<string, string>, body: string): Promise<Reply> {
      const target = targetOf(url)
      return new Promise((resolve, reject) => {
        const exchange = new TimedExchange(writeRequest(method, target, headers, body), timeoutMs, resolve, reject)
        if (closed) exchange.fail(new Error('closed'))
        else (pools.get(target.origin) ?? openPool(target)).send(exchange)
      })
    },
    /** The requests under way fail. */
    close: async (): Promise<void> => {
      closed = true
      for (const pool of [...pools.values()]) pool.close()
    },
  }
}

function guardedConnector(secure: boolean, rules: TargetRules, resolve: ResolveName, ca?: string): buildConnector.connector {
  const refusalOf = (address: string): NoResponse | null => {
    if (isForbiddenAddress(address, rules)) return new NoResponse(`Conexão recusada: ${address} não é um endereço público.`)
    // Without TLS only this machine may be called, whatever the name in the URL is.
    if (secure || isLoopbackAddress(address)) return null
    return new NoResponse(`Conexão recusada: ${address} só pode ser chamado por https.`)
  }
  const lookup: LookupFunction = (hostname, { all }, done) => {
    resolve(hostname).then(
      addresses => {
        const refused = addresses.map(({ address }) => refusalOf(address)).find(reason => reason !== null)
        if (refused !== undefined) done(refused, '', 0)
        else if (addresses[0] === undefined) done(new NoResponse(`O nome ${hostname} não tem endereço.`), '', 0)
        else if (all) done(null, addresses)
        else done(null, addresses[0].address, addresses[0].family)
      },
      error => done(error as NodeJS.ErrnoException, '', 0),
    )
  }
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup, ...(ca === undefined ? {} : { ca }) })
  return (target, done) => {
    // A literal address in the URL is connected to without a lookup, so it is checked here.
    const host = target.hostname.replace(/^\[|\]$/g, '')
    const refused = isIP(host) === 0 ? null : refusalOf(host)
    if (refused === null) connect(target, done)
    else queueMicrotask(() => done(refused, null))
  }
}

interface Target {
  origin: string
  /** Host and port as in the URL. */
  host: string
  path: string
  address: buildConnector.Options
}

/** Parsed URLs, because parsing takes as long as sending a small message. */
const targets = new BoundedCache<string, Target>({ maxEntries: 1_000 })

function targetOf(url: string): Target {
  const known = targets.get(url)
  if (known !== undefined) return known
  const { origin, host, hostname, protocol, port, pathname, search } = new URL(url)
  const address = { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port }
  const target = { origin, host, path: pathname + search, address }
  targets.set(url, target)
  return target
}

/** Anything else could end the line and begin a header of its own. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/

/** Head and body together: in two writes they would go in two packets. The path of a parsed URL is ASCII without blanks. */
function writeRequest(method: string, { host, path }: Target, headers: Record<string, string>, body: string): string {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!HEADER_VALUE.test(value)) throw new NoResponse(`O cabeçalho ${name} não pode ser enviado.`)
    head += `${name}: ${value}\r\n`
  }
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** A request that ends after its time at the latest, whatever it waits for. */
export class TimedExchange implements Exchange {
  readonly reader = new ResponseReader(LIMITS)
  readonly text: string
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (error: NoResponse) => void
  readonly #timer: NodeJS.Timeout
  isSettled = false
  /** Ends what is under way for this exchange. */
  onTimeout: (() => void) | null = null

  constructor(text: string, timeoutMs: number, resolve: (reply: Reply) => void, reject: (error: NoResponse) => void) {
    this.text = text
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(() => {
      this.fail(new NoResponse(`Sem resposta em ${timeoutMs / 1_000} s.`))
      this.onTimeout?.()
    }, timeoutMs)
  }

  succeed(): void {
    if (this.isSettled) return
    this.isSettled = true
    clearTimeout(this.#timer)
    const { head, body } = this.reader
    this.#resolve({ status: head!.status, headers: head!.headers, body })
  }

  fail(error: Error): void {
    // Once the status is known the response counts, even if its body fails.
    if (this.reader.head !== null) this.succeed()
    if (this.isSettled) return
    this.isSettled = true
    clearTimeout(this.#timer)
    this.#reject(error instanceof NoResponse ? error : new NoResponse(explain(error), { cause: error }))
  }
}

const reasons: Record<string, string> = {
  ENOTFOUND: 'O nome não existe no DNS.',
  EAI_AGAIN: 'O DNS não respondeu.',
  ECONNREFUSED: 'Conexão recusada pelo servidor.',
  ECONNRESET: 'O servidor fechou a conexão sem responder.',
  EPIPE: 'O servidor fechou a conexão sem responder.',
  SERVER_CLOSED: 'O servidor fechou a conexão sem responder.',
  UND_ERR_CONNECT_TIMEOUT: 'O servidor não aceitou a conexão a tempo.',
  ETIMEDOUT: 'O servidor não aceitou a conexão a tempo.',
  CERT_HAS_EXPIRED: 'O certificado do servidor venceu.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'O certificado do servidor não é de uma autoridade conhecida.',
  SELF_SIGNED_CERT_IN_CHAIN: 'O certificado do servidor não é de uma autoridade conhecida.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'O certificado do servidor não é de uma autoridade conhecida.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'O certificado do servidor é de outro nome.',
}

function explain(error: unknown): string {
  if (error instanceof MalformedResponse) return 'A resposta não é HTTP.'
  if (error instanceof HeadersTooLarge) return 'A resposta tem cabeçalhos grandes demais.'
  // Of several addresses the last one, IPv4, has the most useful error, because IPv6 does not work on many machines.
  const decisive = error instanceof AggregateError ? error.errors.at(-1) : error
  const { code, name } = (decisive ?? {}) as { code?: string; name?: string }
  return reasons[code ?? ''] ?? `A conexão falhou (${code ?? name ?? 'erro'}).`
}
