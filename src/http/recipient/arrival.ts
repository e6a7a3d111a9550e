import type { FastifyRequest } from 'fastify'
import { type AddressRange, clientAddress } from '../../domain/address-range.js'
import { linkBase } from '../../domain/link.js'
import { type FormAccess, type RobotLimits, robotSignals } from '../../domain/robot.js'
import { isSession, readFormStamp, SESSION_MS } from '../../domain/session.js'
import { type DeliveryState, isUnknown } from '../../domain/status.js'
import type { Visit } from '../../engine/recipient/visits.js'
import type { Visited } from '../../store/visits.js'

/** What a request says about whoever made it. */
const MAX_USER_AGENT = 300
const COOKIE = 'carteiro'

export function addressOf(request: FastifyRequest, trustedProxies: readonly AddressRange[]): string {
  return clientAddress(request.raw.socket.remoteAddress ?? '', header(request, 'x-forwarded-for'), trustedProxies)
}

export interface VisitContext {
  nowMs: number
  address: string
  limits: RobotLimits
  sessionKey: Buffer
}

export function readVisit(
  request: FastifyRequest,
  { target, sentAt, state }: Pick<Visited, 'target' | 'sentAt' | 'state'>,
  context: VisitContext,
): Visit {
  const { nowMs, address, limits, sessionKey } = context
  const userAgent = header(request, 'user-agent')
  const purpose = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'].map(name => header(request, name) ?? '').join(' ')
  const stampedAt = request.method === 'POST' ? readFormStamp(sessionKey, target, field(request, 'carimbo')) : null
  const signals = robotSignals(
    {
      method: request.method,
      userAgent,
      purpose,
      sinceSentMs: sentAt === null ? unsentMs(state) : nowMs - sentAt.getTime(),
      ...(request.method === 'POST' ? { form: formAccess(request, stampedAt === null ? null : nowMs - stampedAt) } : {}),
    },
    limits,
  )
  return { target, at: new Date(nowMs), address, userAgent: userAgent?.slice(0, MAX_USER_AGENT) ?? null, signals }
}

/** Where nobody knows whether it left, whoever holds its link proves that it did. */
const unsentMs = (state: DeliveryState): number | null => (isUnknown(state) ? Number.POSITIVE_INFINITY : null)

const formAccess = (request: FastifyRequest, sincePageMs: number | null): FormAccess => ({
  sincePageMs,
  trapped: (field(request, 'complemento_extra') ?? '') !== '' || field(request, 'aceitar_tudo') !== undefined,
  steered: field(request, 'guiado') === '1',
  fetchMode: header(request, 'sec-fetch-mode'),
  language: header(request, 'accept-language'),
})

/** A member of the form that was sent; undefined when there is none. */
export const field = (request: FastifyRequest, name: string): string | undefined =>
  request.body instanceof URLSearchParams ? (request.body.get(name) ?? undefined) : undefined

/**
 * Whether a form was sent from a page of ours. Browsers say so in Sec-Fetch-Site, older ones in Origin, the oldest in Referer;
 * one that says nothing is not believed.
 */
export function isFromOurPage(request: FastifyRequest, ours: URL): boolean {
  const site = header(request, 'sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  const source = header(request, 'origin') ?? header(request, 'referer') ?? ''
  // A proxy may have put another name in Host.
  return URL.canParse(source) && [request.headers.host, ours.host].includes(new URL(source).host)
}

export function hasSession(request: FastifyRequest, { target }: Visited, { sessionKey, nowMs }: VisitContext): boolean {
  const cookies = (header(request, 'cookie') ?? '').split(';').map(cookie => cookie.trim())
  return cookies
    .filter(cookie => cookie.startsWith(`${COOKIE}=`))
    .some(cookie => isSession(sessionKey, target, cookie.slice(COOKIE.length + 1), nowMs))
}

/** For this link's pages alone. */
export const sessionCookie = (session: string, path: string, secure: boolean): string =>
  `${COOKIE}=${session}; Path=${path}; Max-Age=${SESSION_MS / 1_000}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

/** The address under which this request came, of those that we give out: the account's own, or ours. */
export function siteOf(request: FastifyRequest, { settings }: Visited, publicUrl: string): URL {
  const own = new URL(linkBase(settings, publicUrl))
  return own.host === request.headers.host ? own : new URL(publicUrl)
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}
