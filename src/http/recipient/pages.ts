import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressRange } from '../../domain/address-range.js'
import { overloaded, Refusal, StoreUnavailable } from '../../domain/errors.js'
import { endOfLink } from '../../domain/link-end.js'
import { makeFormStamp } from '../../domain/session.js'
import type { Recipient } from '../../engine/recipient/recipient.js'
import type { Visit, VisitStep } from '../../engine/recipient/visits.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { addressOf, hasSession, isFromOurPage, readVisit, siteOf, type VisitContext } from './arrival.js'
import type { ContentCleaner } from './content-cleaner.js'
import { endedPage, foreignPage, guessedPage, troublePage, unknownPage, unreadablePage } from './end-pages.js'
import { type LargeResponseLimits, LargeResponses } from './large-responses.js'
import { privateHeaders, sendPage } from './layout.js'
import { type Arrival, createPageSteps, type Handler, seconds } from './page-steps.js'

/**
 * The recipient's pages, below /n/{code} (full-strength links) and /s/{code} (short ones). A GET never counts as anything:
 * robots follow links. Only the buttons do, and only when nothing speaks for a machine.
 */
export interface PageOptions {
  recipient: Recipient
  cleaner: ContentCleaner
  trustedProxies: readonly AddressRange[]
  publicUrl: string
}

/** However many come, the rest of the gateway keeps its share of the database. */
const VISITORS_AT_ONCE = 128
const VISITORS_WAITING = 2_000

/** What a phone with a bad connection still takes; who stands still is out after the grace. */
const SLOWEST: LargeResponseLimits['slowest'] = { bytesPerSecond: 32_768, graceMs: 10_000 }
/** Two for one address: nobody fills the house from a few. */
const PER_ADDRESS: LargeResponseLimits['perAddress'] = { atOnce: 2, waiting: 16 }
/** At the slowest, 10 MiB take five to six minutes. */
const FILES: LargeResponseLimits = { atOnce: 16, waiting: 100, perAddress: PER_ADDRESS, longestMs: 7 * 60_000, slowest: SLOWEST }
/** No more than the cleaner lets wait. */
const CONTENTS: LargeResponseLimits = { atOnce: 8, waiting: 64, perAddress: PER_ADDRESS, longestMs: 60_000, slowest: SLOWEST }

/** What is left to do outside the entrance: it may take long, and must not keep other visitors out. */
type Departure = () => Promise<unknown>
type Step = (arrival: Arrival, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | Departure>

interface Ways {
  entrance: Semaphore
  contents: LargeResponses
  files: LargeResponses
}

const FORM_LIMIT = 16_384
const LINKS = [
  { kind: 'full', prefix: '/n' },
  { kind: 'short', prefix: '/s' },
] as const

export function addPages(app: FastifyInstance, options: PageOptions): void {
  app.register(async scope => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_LIMIT },
      (_request, body, done) => done(null, new URLSearchParams(body as string)),
    )
    scope.setErrorHandler(answerTrouble)
    const ways: Ways = {
      entrance: new Semaphore({ permits: VISITORS_AT_ONCE, maxWaiting: VISITORS_WAITING, refusal: overloaded }),
      contents: new LargeResponses(CONTENTS),
      files: new LargeResponses(FILES),
    }
    for (const link of LINKS) addLinkPages(scope, options, ways, link)
  })
}

function addLinkPages(
  app: FastifyInstance,
  options: PageOptions,
  { entrance, contents, files }: Ways,
  { kind, prefix }: (typeof LINKS)[number],
): void {
  const base = `${prefix}/:code`
  const hidden = { schema: { hide: true } }

  /** Finds the link and hands over to the page, or ends here: unknown, locked, over, or not from our own page. */
  const receive = async (step: Step, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | Departure> => {
    reply.headers(privateHeaders)
    const { recipient, trustedProxies, publicUrl } = options
    const address = addressOf(request, trustedProxies)
    const { code } = request.params as { code: string }
    const visited = await recipient.find(kind, code, address)
    if (visited === null) return sendPage(reply, 404, unknownPage)
    if ('lockedMs' in visited)
      return sendPage(reply.header('retry-after', seconds(visited.lockedMs)), 429, guessedPage(visited.lockedMs))
    const site = siteOf(request, visited, publicUrl)
    if (request.method === 'POST' && !isFromOurPage(request, site)) return sendPage(reply, 403, foreignPage)
    const context: VisitContext = {
      nowMs: recipient.now(),
      address,
      limits: recipient.robotLimits,
      sessionKey: recipient.sessionKey,
    }
    const visit = readVisit(request, visited, context)
    const end = endOfLink(visited, context.nowMs)
    if (end !== null) {
      await noteQuietly(request, visit, 'landing')
      return sendPage(reply, 410, endedPage(end, visited))
    }
    const arrival: Arrival = {
      visited,
      visit,
      path: `${prefix}/${encodeURIComponent(code)}`,
      session: hasSession(request, visited, context),
      stamp: makeFormStamp(recipient.sessionKey, visited.target, context.nowMs),
      site,
    }
    return step(arrival, request, reply)
  }
  const arrive = (step: Step) => async (request: FastifyRequest, reply: FastifyReply) => {
    const next = await entrance.run(() => receive(step, request, reply))
    if (typeof next === 'function') await next()
    return reply
  }
  const depart =
    (responses: LargeResponses, handler: Handler): Step =>
    async (arrival, request, reply) =>
    () =>
      responses.send(arrival.visit.address, reply, () => handler(arrival, request, reply))

  /** Pages are shown although their note could not be kept: nothing counts by being shown. */
  const noteQuietly = (request: FastifyRequest, visit: Visit, step: VisitStep): Promise<void> =>
    options.recipient.visits.note(visit, step).catch(err => request.log.warn({ err }, 'an access was not noted'))

  const shown =
    (visitStep: VisitStep, step: Step): Step =>
    async (arrival, request, reply) => {
      await noteQuietly(request, arrival.visit, visitStep)
      return step(arrival, request, reply)
    }

  /** What only the opened message leads to. */
  const opened =
    (step: Step): Step =>
    async (arrival, request, reply) =>
      arrival.session ? step(arrival, request, reply) : reply.redirect(arrival.path, 303)

  const walk = createPageSteps(options.recipient, options.cleaner)
  app.get(base, hidden, arrive(shown('landing', walk.landing)))
  app.post(base, hidden, arrive(walk.open))
  app.get(`${base}/pergunta`, hidden, arrive(shown('question', walk.question)))
  app.post(`${base}/pergunta`, hidden, arrive(walk.answer))
  app.get(`${base}/mensagem`, hidden, arrive(opened(shown('message', walk.message))))
  app.get(`${base}/conteudo`, hidden, arrive(opened(depart(contents, walk.content))))
  app.get(`${base}/baixar`, hidden, arrive(opened(shown('file', depart(contents, walk.contentFile)))))
  app.get(`${base}/anexo/:ordinal`, hidden, arrive(opened(shown('file', depart(files, walk.file)))))
  app.post(`${base}/confirmar`, hidden, arrive(opened(walk.confirm)))
  app.get(`${base}/recibo`, hidden, arrive(opened(shown('receipt', walk.receipt))))
  app.get(`${base}/nao-sou-eu`, hidden, arrive(shown('not me', walk.stranger)))
  app.post(`${base}/nao-sou-eu`, hidden, arrive(walk.disown))
  app.get(`${base}/*`, hidden, (_request, reply) => sendPage(reply, 404, unknownPage))
}

/** People get a page, not JSON; what went wrong is in the log. */
function answerTrouble(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const away = error instanceof StoreUnavailable || (error instanceof Refusal && error.kind === 'unavailable')
  if (away) {
    request.log.warn({ err: error }, 'request refused')
    return sendPage(reply.header('retry-after', '5'), 503, troublePage)
  }
  const { statusCode } = error as { statusCode?: number }
  if (error instanceof Refusal || (statusCode !== undefined && statusCode < 500)) return sendPage(reply, 400, unreadablePage)
  request.log.error({ err: error }, 'request failed')
  return sendPage(reply, 500, troublePage)
}
