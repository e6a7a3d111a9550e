import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { isForbiddenAddress, isLoopbackAddress, type TargetRules } from '../domain/target-address.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import { createNameLookup, type ResolveName } from './name-lookup.js'

/**
 * HTTP to addresses that users gave. Every address that a name has is checked when the connection is made, and only those
 * are connected to; redirects are not followed; time and bytes are bounded.
 */
export interface Outbound {
  post(url: string, headers: Record<string, string>, body: string): Promise<Reply>
  close(): Promise<void>
}

export interface Reply {
  status: number
  headers: Record<string, string>
  /** The beginning of it. */
  body: Buffer
}

/** No answer came; the message says why, for people. */
export class NoAnswer extends Error {
  constructor(reason: string, options?: { cause?: unknown }) {
    super(reason, options)
    this.name = 'NoAnswer'
  }
}

export interface OutboundOptions extends TargetRules {
  timeoutMs: number
  /** Instead of the system's names. */
  resolve?: ResolveName | undefined
  /** Authorities to trust instead of the system's. */
  ca?: string
}

const CONNECT_MS = 5_000
const MAX_HEADER_BYTES = 16_384
/** Enough for the connection to be used again after any ordinary answer. */
const MAX_BODY_BYTES = 65_536
const KEPT_BODY_BYTES = 4_096
const KEEP_ALIVE_MS = 15_000

export function openOutbound(options: OutboundOptions): Outbound {
  const { timeoutMs } = options
  const agent = new Agent({
    connect: guardedConnector(options),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    pipelining: 1,
  })
  return {
    post: (url, headers, body) => post(agent, targetOf(url), headers, body, timeoutMs),
    close: () => agent.destroy(),
  }
}

function guardedConnector(options: OutboundOptions): buildConnector.connector {
  const { resolve = createNameLookup(), ca } = options
  const connectorFor = (secure: boolean): buildConnector.connector => {
    const objection = (address: string): NoAnswer | null => {
      if (isForbiddenAddress(address, options)) return new NoAnswer(`Conexão recusada: ${address} não é um endereço público.`)
      // Without TLS only this machine is called, whatever its name says.
      return secure || isLoopbackAddress(address)
        ? null
        : new NoAnswer(`Conexão recusada: ${address} só pode ser chamado por https.`)
    }
    const lookup: LookupFunction = (hostname, { all }, done) => {
      resolve(hostname).then(
        addresses => {
          const refused = addresses.map(({ address }) => objection(address)).find(reason => reason !== null)
          if (refused !== undefined) done(refused, '', 0)
          else if (addresses[0] === undefined) done(new NoAnswer(`O nome ${hostname} não tem endereço.`), '', 0)
          else if (all) done(null, addresses)
          else done(null, addresses[0].address, addresses[0].family)
        },
        error => done(error as NodeJS.ErrnoException, '', 0),
      )
    }
    const connect = buildConnector({ timeout: CONNECT_MS, lookup, ...(ca === undefined ? {} : { ca }) })
    return (target, done) => {
      // An address that is written out is connected to without any lookup.
      const host = target.hostname.replace(/^\[|\]$/g, '')
      const refused = isIP(host) === 0 ? null : objection(host)
      if (refused === null) connect(target, done)
      else queueMicrotask(() => done(refused, null))
    }
  }
  const [plain, secure] = [connectorFor(false), connectorFor(true)]
  return (target, done) => (target.protocol === 'https:' ? secure : plain)(target, done)
}

interface Target {
  origin: string
  path: string
}

/** Of the endpoints called lately: taking a URL apart costs as much as sending a small message. */
const targets = new BoundedCache<string, Target>({ maxEntries: 1_000 })

function targetOf(url: string): Target {
  const known = targets.get(url)
  if (known !== undefined) return known
  const { origin, pathname, search } = new URL(url)
  const target = { origin, path: pathname + search }
  targets.set(url, target)
  return target
}

function post(
  agent: Agent,
  { origin, path }: Target,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let reply: Reply | undefined
    let size = 0
    let kept = 0
    let settled = false
    const chunks: Buffer[] = []
    const settle = (error: unknown): void => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      // Once the status is known the answer counts, however the rest of it ends.
      if (reply === undefined) reject(error instanceof NoAnswer ? error : new NoAnswer(explain(error), { cause: error }))
      else resolve({ ...reply, body: Buffer.concat(chunks) })
    }
    const timer = setTimeout(() => {
      settle(new NoAnswer(`Sem resposta em ${timeoutMs / 1_000} s.`))
      controller?.abort(new Error('timeout'))
    }, timeoutMs)
    agent.dispatch(
      { origin, path, method: 'POST', headers, body },
      {
        onRequestStart(given) {
          controller = given
          // Timed out before a connection was there.
          if (settled) given.abort(new Error('timeout'))
        },
        onResponseStart(_, status, received) {
          reply = { status, headers: received as Record<string, string>, body: Buffer.alloc(0) }
        },
        onResponseData(given, chunk) {
          size += chunk.length
          if (kept < KEPT_BODY_BYTES) chunks.push(Buffer.from(chunk.subarray(0, KEPT_BODY_BYTES - kept)))
          kept = Math.min(KEPT_BODY_BYTES, size)
          if (size <= MAX_BODY_BYTES) return
          settle(null)
          given.abort(new Error('too large'))
        },
        onResponseEnd: () => settle(null),
        onResponseError: (_, error) => settle(error),
      },
    )
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
  // Where several addresses were tried the last one, IPv4, tells most: IPv6 leads nowhere on many machines.
  const telling = error instanceof AggregateError ? error.errors.at(-1) : error
  const { code, name } = (telling ?? {}) as { code?: string; name?: string }
  const known = reasons[code ?? '']
  if (known !== undefined) return known
  return name === 'HTTPParserError' ? 'A resposta não é HTTP.' : `A conexão falhou (${code ?? name ?? 'erro'}).`
}
