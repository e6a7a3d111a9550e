import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressRange } from '../../domain/access/address-range.js'
import { overloaded, Refusal, StoreUnavailable } from '../../domain/errors.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { endOfLink } from '../../domain/recipient/link.js'
import { makeFormStamp } from '../../domain/recipient/session.js'
import type { RecipientActions } from '../../engine/recipient/recipient.js'
import type { Visit, VisitStep } from '../../engine/recipient/visits.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { isOutage } from '../../store/postgres.js'
import { addressOf } from '../auth.js'
import type { ReadBody } from '../body.js'
import { toFileRefusal } from '../errors.js'
import { hasSession, isFromOurPage, readVisit, siteOf } from './arrival.js'
import { addCodePage } from './code-page.js'
import type { ContentCleaner } from './content-cleaner.js'
import { badRequestPage, crossSitePage, endedPage, failurePage, filePage, tooManyGuessesPage, unknownPage } from './end-pages.js'
import { type LargeResponseLimits, LargeResponses } from './large-responses.js'
import { privateHeaders, sendPage } from './layout.js'
import { type Arrival, createPageHandlers, type Handler, seconds } from './page-handlers.js'

export interface PageOptions {
  recipient: RecipientActions
  cleaner: ContentCleaner
  trustedProxies: readonly AddressRange[]
  publicUrl: string
  verificationOf(notification: string): Verification
}

/** Limits the visitors, so that the rest of the gateway keeps its share of the database. */
const VISITORS_AT_ONCE = 128
const VISITORS_WAITING = 2_000

/** The speed of a phone with a bad connection. A slower client is disconnected after the grace time. */
const SLOWEST: LargeResponseLimits['slowest'] = { bytesPerSecond: 32_768, graceMs: 10_000 }
/** Two per address, so that a few addresses cannot occupy all slots. */
const PER_ADDRESS: LargeResponseLimits['perAddress'] = { atOnce: 2, waiting: 16 }
/** At the lowest speed, 10 MiB take five to six minutes. */
const FILES: LargeResponseLimits = { atOnce: 16, waiting: 100, perAddress: PER_ADDRESS, longestMs: 7 * 60_000, slowest: SLOWEST }
/** No more than the queue of the content cleaner. */
const CONTENTS: LargeResponseLimits = { atOnce: 8, waiting: 64, perAddress: PER_ADDRESS, longestMs: 60_000, slowest: SLOWEST }

/** A long response, sent after the visitor's slot is released so that it does not block other visitors. */
type LongResponse = () => Promise<unknown>
type Step = (arrival: Arrival, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | LongResponse>

const FORM_LIMIT = 16_384

const createLimits = () => ({
  visitors: new Semaphore({ permits: VISITORS_AT_ONCE, maxWaiting: VISITORS_WAITING, refusal: overloaded }),
  contents: new LargeResponses(CONTENTS),
  files: new LargeResponses(FILES),
})

/**
 * The recipient's pages, below /n/{code} (full links) and /s/{code} (short links). A GET never counts, because robots follow
 * links. Only the buttons count, and only without signs of a program.
 */
export function addPages(app: FastifyInstance, options: PageOptions, readBody: ReadBody): void {
  app.register(async scope => {
    servePeople(scope, readBody)
    const limits = createLimits()
    addLinkPages(scope, options, limits, 'full', '/n')
    addLinkPages(scope, options, limits, 'short', '/s')
    addCodePage(scope)
  })
}

function addLinkPages(
  app: FastifyInstance,
  options: PageOptions,
  { visitors, contents, files }: ReturnType<typeof createLimits>,
  kind: 'full' | 'short',
  prefix: string,
): void {
  const { recipient, trustedProxies, publicUrl } = options
  const base = `${prefix}/:code`
  const hidden = { schema: { hide: true } }

  /** Finds the link and calls the step, unless the link is unknown, locked or ended, or the form is not from our own page. */
  const receive = async (step: Step, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | LongResponse> => {
    reply.headers(privateHeaders)
    const address = addressOf(request, trustedProxies)
    const { code } = request.params as { code: string }
    const visited = await recipient.find(kind, code, address)
    if (visited === null) return sendPage(reply, 404, unknownPage)
    if ('lockedMs' in visited)
      return sendPage(reply.header('retry-after', seconds(visited.lockedMs)), 429, tooManyGuessesPage(visited.lockedMs))
    const site = siteOf(request, visited, publicUrl)
    if (request.method === 'POST' && !isFromOurPage(request, site)) return sendPage(reply, 403, crossSitePage)
    const visit = readVisit(request, address, visited, recipient)
    const nowMs = visit.at.getTime()
    const end = endOfLink(visited, nowMs)
    if (end !== null) {
      await noteIfPossible(request, visit, 'landing')
      return sendPage(reply, 410, endedPage(end, visited))
    }
    const path = `${prefix}/${encodeURIComponent(code)}`
    const session = hasSession(request, visit, recipient.sessionKey)
    const stamp = makeFormStamp(recipient.sessionKey, visited.target, nowMs)
    return step({ visited, visit, path, session, stamp, site }, request, reply)
  }
  const handle = (step: Step) => async (request: FastifyRequest, reply: FastifyReply) => {
    const next = await visitors.run(() => receive(step, request, reply))
    if (typeof next === 'function') await next()
    return reply
  }
  const sendLong =
    (responses: LargeResponses, handler: Handler): Step =>
    async (arrival, request, reply) =>
    () =>
      responses.send(arrival.visit.address, reply, () => handler(arrival, request, reply))

  /** A page is shown even if its note cannot be stored, because showing a page does not change any status. */
  const noteIfPossible = (request: FastifyRequest, visit: Visit, step: VisitStep): Promise<void> =>
    recipient.visits.note(visit, step).catch(err => request.log.warn({ err }, 'an access was not noted'))

  const shown =
    (visitStep: VisitStep, step: Step): Step =>
    async (arrival, request, reply) => {
      await noteIfPossible(request, arrival.visit, visitStep)
      return step(arrival, request, reply)
    }

  /** Requires the session that starts when the message is opened. */
  const opened =
    (step: Step): Step =>
    async (arrival, request, reply) =>
      arrival.session ? step(arrival, request, reply) : reply.redirect(arrival.path, 303)

  const handlers = createPageHandlers(options)
  app.get(base, hidden, handle(shown('landing', handlers.landing)))
  app.post(base, hidden, handle(handlers.open))
  app.get(`${base}/pergunta`, hidden, handle(shown('question', handlers.question)))
  app.post(`${base}/pergunta`, hidden, handle(handlers.answer))
  app.get(`${base}/mensagem`, hidden, handle(opened(shown('message', handlers.message))))
  app.get(`${base}/conteudo`, hidden, handle(opened(sendLong(contents, handlers.content))))
  app.get(`${base}/baixar`, hidden, handle(opened(shown('file', sendLong(contents, handlers.contentFile)))))
  app.get(`${base}/original`, hidden, handle(opened(shown('file', sendLong(contents, handlers.originalFile)))))
  app.get(`${base}/anexo/:ordinal`, hidden, handle(opened(shown('file', sendLong(files, handlers.file)))))
  app.post(`${base}/confirmar`, hidden, handle(opened(handlers.confirm)))
  app.get(`${base}/recibo`, hidden, handle(opened(shown('receipt', handlers.receipt))))
  app.get(`${base}/nao-sou-eu`, hidden, handle(shown('not me', handlers.wrongPerson)))
  app.post(`${base}/nao-sou-eu`, hidden, handle(handlers.reportWrongPerson))
  app.get(`${base}/*`, hidden, (_request, reply) => sendPage(reply, 404, unknownPage))
}

/** The routes of this scope read forms, and answer errors with pages. */
export function servePeople(scope: FastifyInstance, readBody: ReadBody): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async (request: FastifyRequest, payload: Readable) =>
      new URLSearchParams((await readBody(request, payload, FORM_LIMIT)).toString()),
  )
  scope.setErrorHandler(answerWithPage)
}

/** Answers errors with a page instead of JSON; the details are in the log. */
export function answerWithPage(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const ofFile = toFileRefusal(error)
  if (ofFile !== null) {
    request.log.warn({ err: error }, 'request refused')
    if (ofFile.retryAfter !== undefined) reply.header('retry-after', String(ofFile.retryAfter))
    return sendPage(reply, 503, filePage(ofFile.message))
  }
  const unavailable = error instanceof StoreUnavailable || (error instanceof Refusal && error.kind === 'unavailable')
  if (unavailable) {
    if (!isOutage(error)) request.log.warn({ err: error }, 'request refused')
    return sendPage(reply.header('retry-after', '5'), 503, failurePage)
  }
  const { statusCode } = error as { statusCode?: number }
  if (error instanceof Refusal || (statusCode !== undefined && statusCode < 500)) return sendPage(reply, 400, badRequestPage)
  request.log.error({ err: error }, 'request failed')
  return sendPage(reply, 500, failurePage)
}
