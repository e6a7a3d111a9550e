import type { FastifyRequest } from 'fastify'
import { isUnknown } from '../../domain/delivery/status.js'
import { linkBase } from '../../domain/recipient/link.js'
import { type FormAccess, robotSignals } from '../../domain/recipient/robot.js'
import { isSession, readFormStamp, SESSION_MS } from '../../domain/recipient/session.js'
import type { RecipientActions } from '../../engine/recipient/recipient.js'
import type { Visit } from '../../engine/recipient/visits.js'
import type { VisitedDelivery } from '../../store/recipient/visits.js'
import { header } from '../auth.js'

const MAX_USER_AGENT = 300
const COOKIE = 'carteiro'

export function readVisit(
  request: FastifyRequest,
  address: string,
  { target, sentAt, state }: Pick<VisitedDelivery, 'target' | 'sentAt' | 'state'>,
  { now, robotLimits, sessionKey }: RecipientActions,
): Visit {
  const nowMs = now()
  const userAgent = header(request, 'user-agent')
  const purpose = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'].map(name => header(request, name) ?? '').join(' ')
  const stampedAt = request.method === 'POST' ? readFormStamp(sessionKey, target, field(request, 'carimbo')) : null
  // When the outcome of the send is unknown, a visitor with the link proves that the message was sent.
  const unsentMs = isUnknown(state) ? Number.POSITIVE_INFINITY : null
  const signals = robotSignals(
    {
      method: request.method,
      userAgent,
      purpose,
      sinceSentMs: sentAt === null ? unsentMs : nowMs - sentAt.getTime(),
      ...(request.method === 'POST' ? { form: formAccess(request, stampedAt === null ? null : nowMs - stampedAt) } : {}),
    },
    robotLimits,
  )
  return { target, at: new Date(nowMs), address, userAgent: userAgent?.slice(0, MAX_USER_AGENT) ?? null, signals }
}

const formAccess = (request: FastifyRequest, sincePageMs: number | null): FormAccess => ({
  sincePageMs,
  trapped: (field(request, 'complemento_extra') ?? '') !== '' || field(request, 'aceitar_tudo') !== undefined,
  steered: field(request, 'guiado') === '1',
  fetchMode: header(request, 'sec-fetch-mode'),
  language: header(request, 'accept-language'),
})

/** A member of the submitted form, or undefined. */
export const field = (request: FastifyRequest, name: string): string | undefined =>
  request.body instanceof URLSearchParams ? (request.body.get(name) ?? undefined) : undefined

/**
 * Whether a form was sent from our own page. Browsers send Sec-Fetch-Site, older ones Origin, the oldest ones Referer. A request
 * without any of them is refused.
 */
export function isFromOurPage(request: FastifyRequest, ours: URL): boolean {
  const site = header(request, 'sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  const source = header(request, 'origin') ?? header(request, 'referer') ?? ''
  // A proxy may have changed Host.
  return URL.canParse(source) && [request.headers.host, ours.host].includes(new URL(source).host)
}

export const hasSession = (request: FastifyRequest, { target, at }: Visit, sessionKey: Buffer): boolean =>
  (header(request, 'cookie') ?? '')
    .split(';')
    .map(cookie => cookie.trim())
    .filter(cookie => cookie.startsWith(`${COOKIE}=`))
    .some(cookie => isSession(sessionKey, target, cookie.slice(COOKIE.length + 1), at.getTime()))

/** The cookie is valid for this link's pages only. */
export const sessionCookie = (session: string, path: string, secure: boolean): string =>
  `${COOKIE}=${session}; Path=${path}; Max-Age=${SESSION_MS / 1_000}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

/** The base URL of this request: the account's own or the public one. */
export function siteOf(request: FastifyRequest, { settings }: VisitedDelivery, publicUrl: string): URL {
  const own = new URL(linkBase(settings, publicUrl))
  return own.host === request.headers.host ? own : new URL(publicUrl)
}
