import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type AddressRange, addressGroup } from '../domain/access/address-range.js'
import { overloaded, Refusal } from '../domain/errors.js'
import { scopeKey } from '../domain/scope.js'
import { parseUntrustedJson } from '../domain/text/json.js'
import { mebibytes } from '../domain/text/text.js'
import { addressOf } from './auth.js'
import { type ArrivingBody, BodyBudget, type BodyBudgetOptions } from './body-budget.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Hands the unparsed bytes to the handler. */
    rawBody?: boolean
    /** The route needs no body, and accepts an empty one. */
    emptyBody?: boolean
  }
  interface FastifyRequest {
    answer: ServerResponse
  }
}

export const LARGE_BODY = 262_144

/** Other codings, such as a character set in the wrong header, leave the body as it is. */
const COMPRESSION = /\b(?:gzip|deflate|compress|br|zstd)\b/i

export interface BodyLimits {
  /** The limits for requests with a valid token and for people who are signed in. The share is that of an account and mode, or of a person. */
  accounts: BudgetLimits
  /** The limits for all other requests: recipients' forms and carriers' callbacks. The share is that of an address. */
  strangers: BudgetLimits
  trustedProxies: readonly AddressRange[]
}

type BudgetLimits = Omit<BodyBudgetOptions, 'overloaded' | 'tooSlow'>

/** Reads a body into memory, within the limits of its route and of all bodies together. */
export type ReadBody = (request: FastifyRequest, payload: Readable, limit?: number) => Promise<Buffer>

/**
 * Request bodies: JSON only, bounded each, and bounded together. A request that waits too long for its share of the memory is
 * refused with Retry-After. Returns the reader for routes that take something else than JSON.
 */
export function addBodyParser(app: FastifyInstance, { accounts, strangers, trustedProxies }: BodyLimits): ReadBody {
  const ofAccounts = openBudgets(accounts)
  const ofStrangers = openBudgets(strangers)
  const read: ReadBody = (request, payload, limit = request.routeOptions.bodyLimit) => {
    const { caller, operator } = request
    // Somebody who is signed in to the console is no stranger, and sends files as large as a caller's.
    if (caller === undefined && operator != null)
      return collect(request, payload, limit, { ...ofAccounts, holder: `operator ${operator.id}`, drains: true })
    return caller === undefined
      ? collect(request, payload, limit, {
          ...ofStrangers,
          holder: addressGroup(addressOf(request, trustedProxies)),
          drains: false,
        })
      : collect(request, payload, limit, { ...ofAccounts, holder: scopeKey(caller), drains: true })
  }
  app.addHook('onRequest', (request, reply, done) => {
    request.answer = reply.raw
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    // Where no token is asked for, a request to no route is refused whatever its body.
    if (request.is404 && request.caller === undefined) return undefined
    const raw = await read(request, payload)
    const { rawBody, emptyBody = request.method === 'DELETE' } = request.routeOptions.config
    if (rawBody === true) return raw
    return raw.length === 0 && emptyBody ? undefined : parseUntrustedJson(raw)
  })
  return read
}

interface Budgets {
  small: BodyBudget
  large: BodyBudget
}

/** Small bodies have a quarter of everything for themselves, so that they never wait for large ones, not even for their own account's. */
function openBudgets({ bytes, share, waiting, ...limits }: BudgetLimits): Budgets {
  const part = (size: number): BodyBudget =>
    new BodyBudget({
      ...limits,
      bytes: bytes * size,
      share: share * size,
      waiting,
      overloaded,
      tooSlow: () => new Refusal('tooSlow'),
    })
  return { small: part(1 / 4), large: part(3 / 4) }
}

function collect(
  { headers, answer }: FastifyRequest,
  payload: Readable,
  limit: number,
  { small, large, holder, drains }: Budgets & { holder: string; drains: boolean },
): Promise<Buffer> {
  const [coding] = COMPRESSION.exec(headers['content-encoding'] ?? '') ?? []
  if (coding !== undefined) return Promise.reject(new Refusal('contentEncoding', [coding]))
  const tooLarge = (): Refusal => new Refusal('bodyTooLarge', [mebibytes(limit)])
  const declared = headers['content-length'] === undefined ? null : Number(headers['content-length'])
  if (declared !== null && declared > limit) return Promise.reject(tooLarge())
  // Events instead of `for await`, because its iterator takes 5 % of the whole time of a small send.
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const refuse = (error: Error): void => {
      chunks.length = 0
      body.release()
      payload.off('data', take).off('end', finish)
      // The rest of the body is read and dropped while the refusal is sent. Reading what strangers send in vain would cost more than
      // the requests that have room: their connection is closed (server.ts).
      if (drains) payload.resume()
      else payload.pause()
      reject(error)
    }
    const onTooSlow = (error: Error): void => {
      // Whoever is too slow for its body must not keep the connection for the rest of it.
      answer.setHeader('connection', 'close')
      refuse(error)
    }
    let isLarge = false
    let body: ArrivingBody = small.open(holder, onTooSlow)
    const moveToLarge = (): void => {
      const { bytes } = body
      body.release()
      body = large.open(holder, onTooSlow)
      body.charge(bytes)
      isLarge = true
    }
    const waitForRoom = (): void => {
      const waiting = body.room()
      if (waiting === null) return
      payload.pause()
      waiting.then(() => payload.resume(), refuse)
    }
    const take = (chunk: Buffer): void => {
      chunks.push(chunk)
      body.charge(chunk.length)
      if (!isLarge && body.bytes > LARGE_BODY) moveToLarge()
      if (body.bytes > limit) refuse(tooLarge())
      else if (body.bytes !== declared) waitForRoom()
    }
    const finish = (): void => {
      body.complete()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, body.bytes))
    }
    // The bytes are held until the answer is sent or the sender is gone, because the request holds the body until then.
    if (answer.closed) body.release()
    else answer.once('close', () => body.release())
    payload.on('data', take).once('end', finish).once('error', reject)
    waitForRoom()
  })
}
