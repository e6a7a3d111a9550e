import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { isForbiddenAddress, isLoopbackAddress, type TargetRules } from '../domain/access/target-address.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import { createNameLookup, type ResolveName } from './name-lookup.js'

export type Outbound = ReturnType<typeof openOutbound>

export interface Reply {
  status: number
  headers: Record<string, string>
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
const MAX_HEADER_BYTES = 16_384
/** An ordinary response is read to its end, so that its connection can be reused. */
const MAX_BODY_BYTES = 65_536
const KEPT_BODY_BYTES = 4_096
const KEEP_ALIVE_MS = 15_000

/**
 * HTTP to URLs of users. Every address of a name is checked when the connection is made, and only a checked address is used, so
 * that a URL cannot reach our own network. Redirects are not followed; time and bytes are limited.
 */
export function openOutbound(options: OutboundOptions) {
  const { timeoutMs, resolve = createNameLookup(), ca } = options
  const plain = guardedConnector(false, options, resolve, ca)
  const secure = guardedConnector(true, options, resolve, ca)
  const agent = new Agent({
    connect: (target, done) => (target.protocol === 'https:' ? secure : plain)(target, done),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    pipelining: 1,
  })
  return {
    request(method: 'POST' | 'PUT', url: string, headers: Record<string, string>, body: string): Promise<Reply> {
      const { origin, path } = targetOf(url)
      return dispatch(agent, { origin, path, method, headers, body }, timeoutMs)
    },
    close: () => agent.destroy(),
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

/** Parsed URLs, because parsing takes as long as sending a small message. */
const targets = new BoundedCache<string, { origin: string; path: string }>({ maxEntries: 1_000 })

function targetOf(url: string): { origin: string; path: string } {
  const known = targets.get(url)
  if (known !== undefined) return known
  const { origin, pathname, search } = new URL(url)
  const target = { origin, path: pathname + search }
  targets.set(url, target)
  return target
}

function dispatch(agent: Agent, request: Dispatcher.DispatchOptions, timeoutMs: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let reply: Reply | undefined
    let size = 0
    let settled = false
    const chunks: Buffer[] = []
    const settle = (error: unknown): void => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      // Once the status is known the response counts, even if its body fails.
      if (reply === undefined) reject(error instanceof NoResponse ? error : new NoResponse(explain(error), { cause: error }))
      else resolve({ ...reply, body: Buffer.concat(chunks) })
    }
    const timer = setTimeout(() => {
      settle(new NoResponse(`Sem resposta em ${timeoutMs / 1_000} s.`))
      controller?.abort(new Error('timeout'))
    }, timeoutMs)
    agent.dispatch(request, {
      onRequestStart(given) {
        controller = given
        // The timeout passed before the connection was open.
        if (settled) given.abort(new Error('timeout'))
      },
      onResponseStart(_, status, headers) {
        reply = { status, headers: headers as Record<string, string>, body: Buffer.alloc(0) }
      },
      onResponseData(given, chunk) {
        if (size < KEPT_BODY_BYTES) chunks.push(Buffer.from(chunk.subarray(0, KEPT_BODY_BYTES - size)))
        size += chunk.length
        if (size <= MAX_BODY_BYTES) return
        settle(null)
        given.abort(new Error('too large'))
      },
      onResponseEnd: () => settle(null),
      onResponseError: (_, error) => settle(error),
    })
  })
}

const reasons: Record<string, string> = {
  ENOTFOUND: 'O nome não existe no DNS.',
  EAI_AGAIN: 'O DNS não respondeu.',
  ECONNREFUSED: 'Conexão recusada pelo servidor.',
  ECONNRESET: 'O servidor fechou a conexão sem responder.',
  EPIPE: 'O servidor fechou a conexão sem responder.',
  UND_ERR_SOCKET: 'O servidor fechou a conexão sem responder.',
  UND_ERR_CONNECT_TIMEOUT: 'O servidor não aceitou a conexão a tempo.',
  ETIMEDOUT: 'O servidor não aceitou a conexão a tempo.',
  UND_ERR_HEADERS_OVERFLOW: 'A resposta tem cabeçalhos grandes demais.',
  CERT_HAS_EXPIRED: 'O certificado do servidor venceu.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'O certificado do servidor não é de uma autoridade conhecida.',
  SELF_SIGNED_CERT_IN_CHAIN: 'O certificado do servidor não é de uma autoridade conhecida.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'O certificado do servidor não é de uma autoridade conhecida.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'O certificado do servidor é de outro nome.',
}

function explain(error: unknown): string {
  // Of several addresses the last one, IPv4, has the most useful error, because IPv6 does not work on many machines.
  const decisive = error instanceof AggregateError ? error.errors.at(-1) : error
  const { code, name } = (decisive ?? {}) as { code?: string; name?: string }
  const known = reasons[code ?? '']
  if (known !== undefined) return known
  return name === 'HTTPParserError' ? 'A resposta não é HTTP.' : `A conexão falhou (${code ?? name ?? 'erro'}).`
}
