import { hash, type KeyObject } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AddressRange, addressGroup, clientAddress, inRanges } from '../domain/access/address-range.js'
import { MAX_TOKEN_BYTES, type TokenClaims, verifyToken } from '../domain/access/token.js'
import { Refusal } from '../domain/errors.js'
import { scopeKey } from '../domain/scope.js'
import type { Budgets, Verdict } from '../engine/access/budgets.js'
import type { Caller, Directory } from '../engine/access/directory.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import { explainUnauthorized, faultOfText, type TokenFault } from './token-faults.js'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    token: TokenClaims
    address: string
  }
}

export interface AuthOptions {
  key: KeyObject
  directory: Directory
  budgets: Budgets
  trustedProxies: readonly AddressRange[]
}

/** Failed authentications a minute from an address that no account registered. */
const FAILURES_PER_MINUTE = 600
/** For a failure that is not counted, because every answer shows a limit. */
const UNCOUNTED: Verdict = { allowed: true, limit: FAILURES_PER_MINUTE, remaining: FAILURES_PER_MINUTE, resetSeconds: 60 }
const MAX_REMEMBERED_TOKENS = 20_000

/** Authenticates and limits requests: the first two refusals, 401 and 429, in that order. */
export function createAuthentication({ key, directory, budgets, trustedProxies }: AuthOptions) {
  /** Signatures already checked, by the token's hash: an Ed25519 check costs 30 times as much. */
  const verified = new BoundedCache<string, TokenClaims>({ maxEntries: MAX_REMEMBERED_TOKENS })

  async function identify(request: FastifyRequest): Promise<{ token: TokenClaims; caller: Caller } | TokenFault> {
    const text = request.headers.authorization
    if (text === undefined) return { fault: 'missing' }
    if (countAuthorization(request.raw.rawHeaders) !== 1) return { fault: 'repeated' }
    if (text.length > MAX_TOKEN_BYTES) return { fault: 'no token' }
    const name = hash('sha256', text, 'base64')
    const token = verified.get(name) ?? (await verifyToken(key, text, directory.clock()))
    if (token === null) return faultOfText(text)
    if ('expiredAt' in token) return { fault: 'expired', at: token.expiredAt }
    verified.set(name, token)
    if (token.expiresAt !== null && token.expiresAt.getTime() <= directory.clock())
      return { fault: 'expired', at: token.expiresAt }
    const caller = await directory.findCaller(token.jti)
    const matches = caller?.account === token.account && caller.mode === token.mode
    return matches ? { token, caller } : { fault: 'revoked' }
  }

  async function refuseUnknown(address: string, reply: FastifyReply): Promise<never> {
    // Without the database a failure cannot be counted; it is a failure anyway.
    applyRateVerdict(reply, 'autenticacao', (await countFailure(address).catch(() => null)) ?? UNCOUNTED)
    throw new Refusal('unauthorized')
  }

  async function countFailure(address: string): Promise<Verdict | null> {
    if (await directory.isRegistered(address)) return null
    return budgets.spend(`auth ${addressGroup(address)}`, FAILURES_PER_MINUTE)
  }

  return async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const address = addressOf(request, trustedProxies)
    const known = await identify(request)
    if ('fault' in known) {
      explainUnauthorized(request, reply, known)
      return refuseUnknown(address, reply)
    }
    const { token, caller } = known
    await spendRequest(budgets, reply, caller, address)
    request.caller = caller
    request.token = token
    request.address = address
  }
}

/** Takes one request from the account's budget: that of its registered addresses, or that of all others. */
export async function spendRequest(
  budgets: Budgets,
  reply: FastifyReply,
  caller: Pick<Caller, 'account' | 'mode' | 'settings' | 'ranges'>,
  address: string,
): Promise<void> {
  const tier = inRanges(address, caller.ranges) ? 'registered' : 'unregistered'
  const verdict = await budgets.spend(`${scopeKey(caller)} ${tier}`, caller.settings[`limit.${tier}`])
  applyRateVerdict(reply, tier === 'registered' ? 'registrado' : 'nao-registrado', verdict)
}

/** Node keeps the first of several Authorization headers and drops the rest: ambiguous, so refused. */
function countAuthorization(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 13 && name.toLowerCase() === 'authorization') count++
  }
  return count
}

export function addressOf(request: FastifyRequest, trustedProxies: readonly AddressRange[]): string {
  return clientAddress(request.raw.socket.remoteAddress ?? '', header(request, 'x-forwarded-for'), trustedProxies)
}

export function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}

/** Sets the headers of draft-ietf-httpapi-ratelimit-headers, the policy and then its rest, and refuses when the budget is spent. */
function applyRateVerdict(reply: FastifyReply, policy: string, verdict: Verdict): void {
  reply.header('ratelimit-policy', `"${policy}";q=${verdict.limit};w=60`)
  reply.header('ratelimit', `"${policy}";r=${verdict.remaining};t=${verdict.resetSeconds}`)
  if (!verdict.allowed) throw new Refusal('tooManyRequests', [], { retryAfter: verdict.resetSeconds })
}
