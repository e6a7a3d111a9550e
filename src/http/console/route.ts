import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressRange } from '../../domain/access/address-range.js'
import { type OperatorRole, operatorRoles } from '../../domain/access/operator.js'
import type { Mode } from '../../domain/access/token.js'
import { Refusal, refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import type { Scope } from '../../domain/scope.js'
import { DEVICE_LIFE_MS } from '../../engine/console/devices.js'
import { type Client, SESSION_LIFE_MS, secretHash } from '../../engine/console/sign-in.js'
import { type Account, findAccountById, listAccountNames, type NamedAccount } from '../../store/accounts/accounts.js'
import { findSession, renewSession, type SignedIn } from '../../store/console/sessions.js'
import type { Pool } from '../../store/postgres.js'
import { addressOf, header } from '../auth.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call a route of the console. Every route says so, or the server does not start. */
    allows?: readonly OperatorRole[] | 'anyone'
  }
  interface FastifyRequest {
    operator: SignedIn
  }
}

export const everyone: readonly OperatorRole[] = operatorRoles
/** Whoever changes things, in the account of the request. */
export const senders: readonly OperatorRole[] = ['operator', 'sender']
export const operatorsOnly: readonly OperatorRole[] = ['operator']
/** What is about the installation, and of no account: not for those who see one. */
export const overseers: readonly OperatorRole[] = ['operator', 'auditor']

/** Options of a route of the console. */
export const route = (allows: readonly OperatorRole[] | 'anyone', schema: object = {}) => ({
  config: { allows },
  schema: { hide: true, ...schema },
})

export interface SessionOptions {
  pool: Pool
  trustedProxies: readonly AddressRange[]
  /** People reach us by https. */
  secure: boolean
  publicUrl: string
}

/** The session's last visit is written at most this often. */
const RENEW_EVERY_MS = 60_000
/** A header that no form and no link of another site can set. */
const MARK = 'x-carteiro-console'
const SAFE = ['GET', 'HEAD', 'OPTIONS']

/** Every route of this scope asks for a session and a role, and every unsafe one for a sign that our own page sent it. */
export function guardConsole(app: FastifyInstance, options: SessionOptions): void {
  const { pool } = options
  app.addHook('onRoute', ({ config, method, url }) => {
    if (config?.allows === undefined) throw new Error(`${String(method)} ${url} does not say who may call it`)
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store, private', 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' })
    if (!SAFE.includes(request.method)) requireOwnPage(request, options)
    const { allows } = request.routeOptions.config
    if (allows === 'anyone') return
    const secret = readCookie(request, cookieName(options))
    const known = secret === null ? null : await findSession(pool, secretHash(secret))
    if (known === null) throw new Refusal('signedOut')
    if (!allows!.includes(known.role)) throw new Refusal('roleForbidden')
    request.operator = known
    if (known.idleMs > RENEW_EVERY_MS) {
      await renewSession(pool, known.session, SESSION_LIFE_MS)
      setSession(reply, options, secret!)
    }
  })
}

/** Browsers state the origin of every unsafe request, and a page of another site can set neither that nor our header. */
function requireOwnPage(request: FastifyRequest, { publicUrl }: SessionOptions): void {
  const origin = header(request, 'origin') ?? ''
  const site = header(request, 'sec-fetch-site') ?? 'same-origin'
  const host = URL.canParse(origin) ? new URL(origin).host : null
  const isOurs = host !== null && (host === request.headers.host || origin === publicUrl)
  if (request.headers[MARK] !== '1' || !isOurs || site !== 'same-origin') throw new Refusal('crossSite')
}

/** __Host-: set by this very host over https, for all paths, and by no neighbour under the same domain. */
const cookieName = ({ secure }: Pick<SessionOptions, 'secure'>): string => (secure ? '__Host-carteiro' : 'carteiro')

function readCookie(request: FastifyRequest, name: string): string | null {
  const found = (header(request, 'cookie') ?? '').split(/;\s*/).find(pair => pair.startsWith(`${name}=`))
  return found === undefined ? null : found.slice(name.length + 1)
}

export const setSession = (reply: FastifyReply, options: Pick<SessionOptions, 'secure'>, secret: string | null): void =>
  setCookie(reply, options, cookieName(options), secret, SESSION_LIFE_MS)

/** Stays after the sign-out: it opens nothing, and keeps its browser from being locked out by guesses made elsewhere. */
export const setDevice = (reply: FastifyReply, options: Pick<SessionOptions, 'secure'>, device: string): void =>
  setCookie(reply, options, deviceCookie(options), device, DEVICE_LIFE_MS)

const deviceCookie = (options: Pick<SessionOptions, 'secure'>): string => `${cookieName(options)}-device`

function setCookie(
  reply: FastifyReply,
  { secure }: Pick<SessionOptions, 'secure'>,
  name: string,
  value: string | null,
  lifeMs: number,
): void {
  const life = value === null ? 0 : lifeMs / 1000
  reply.header(
    'set-cookie',
    `${name}=${value ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${life}${secure ? '; Secure' : ''}`,
  )
}

export const clientOf = (request: FastifyRequest, options: Pick<SessionOptions, 'trustedProxies' | 'secure'>): Client => ({
  address: addressOf(request, options.trustedProxies),
  agent: header(request, 'user-agent') ?? '',
  device: readCookie(request, deviceCookie(options)),
})

/** What a request is about: one mode of the accounts that the person may see, or of the one that they chose. */
export interface ConsoleScope {
  accounts: readonly string[]
  mode: Mode
}

/** The same for lists that need not know the accounts of a person who sees all. */
export interface SearchScope {
  /** null: all of them. */
  accounts: readonly string[] | null
  mode: Mode
}

interface ScopedRequest {
  operator: SignedIn
  query: { account?: string | undefined; mode?: Mode | undefined }
}

export async function scopeOf(pool: Pool, request: ScopedRequest): Promise<ConsoleScope> {
  const { accounts, mode } = await searchScopeOf(pool, request)
  return { accounts: accounts ?? (await visibleAccounts(pool, request.operator)).map(({ id }) => id), mode }
}

export async function searchScopeOf(pool: Pool, { operator, query }: ScopedRequest): Promise<SearchScope> {
  const { account = '', mode = 'live' } = query
  if (account === '' && operator.account === null) return { accounts: null, mode }
  const [found] = await listAccountNames(pool, [account === '' ? operator.account! : visibleId(operator, account)])
  return { accounts: [found?.id ?? refuse('accountMissing')], mode }
}

/** The account of a path, if the person may see it. */
export const requireVisible = async (
  pool: Pool,
  { operator, params }: { operator: SignedIn; params: { id: string } },
): Promise<Account> => (await findAccountById(pool, visibleId(operator, params.id))) ?? refuse('accountMissing')

/** An account that exists but is not theirs is answered as one that does not exist. */
function visibleId(operator: SignedIn, asked: string): string {
  const id = readId(asked) ?? refuse('accountMissing')
  return operator.account === null || operator.account === id ? id : refuse('accountMissing')
}

/** The one account that a request names, for what belongs to an account and not to several. */
export async function accountOf(
  pool: Pool,
  request: { operator: SignedIn; query: { account: string; mode?: Mode | undefined } },
): Promise<Scope> {
  const { accounts, mode } = await scopeOf(pool, request)
  if (request.query.account === '') refuse('accountMissing')
  return { account: accounts[0]!, mode }
}

/** The accounts that the person may see, in the order of their names. */
export const visibleAccounts = (pool: Pool, { account }: SignedIn): Promise<NamedAccount[]> =>
  listAccountNames(pool, account === null ? null : [account])

/** The names of the accounts of some rows, which the person may see. */
export const accountNames = async (pool: Pool, rows: readonly { account: string }[]): Promise<Map<string, string>> => {
  const accounts = new Set(rows.map(({ account }) => account))
  if (accounts.size === 0) return new Map()
  return new Map((await listAccountNames(pool, [...accounts])).map(({ id, name }) => [id, name]))
}
