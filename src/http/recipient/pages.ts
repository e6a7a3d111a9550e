import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressRange } from '../../domain/address-range.js'
import { Refusal, StoreUnavailable } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence.js'
import { endOfLink } from '../../domain/link-end.js'
import { makeFormStamp, makeSession } from '../../domain/session.js'
import type { Recipient } from '../../engine/recipient.js'
import { Turnstile } from '../../engine/turnstile.js'
import type { Visit, VisitStep } from '../../engine/visits.js'
import type { Visited } from '../../store/visits.js'
import { addressOf, field, hasSession, isFromOurPage, readVisit, sessionCookie, siteOf, type VisitContext } from './arrival.js'
import { CONTENT_POLICY, contentPage, UNSHOWN } from './content.js'
import type { ContentCleaner } from './content-cleaner.js'
import { sendDownload } from './download.js'
import { disownedPage, endedPage, foreignPage, guessedPage, troublePage, unknownPage, unreadablePage } from './end-pages.js'
import { landingPage } from './landing-page.js'
import { privateHeaders, sendPage } from './layout.js'
import { messagePage } from './message-page.js'
import { questionPage } from './question-page.js'
import { receiptPage } from './receipt-page.js'
import { strangerPage } from './stranger-page.js'

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

/** A link that opens, whoever came, and what their browser brought. */
interface Arrival {
  visited: Visited
  visit: Visit
  path: string
  session: boolean
  stamp: string
  site: URL
}

type Handler = (arrival: Arrival, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

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
    const entrance = new Turnstile(VISITORS_AT_ONCE, VISITORS_WAITING)
    for (const link of LINKS) addLinkPages(scope, options, entrance, link)
  })
}

function addLinkPages(
  app: FastifyInstance,
  options: PageOptions,
  entrance: Turnstile,
  { kind, prefix }: (typeof LINKS)[number],
): void {
  const base = `${prefix}/:code`
  const hidden = { schema: { hide: true } }

  /** Finds the link and hands over to the page, or ends here: unknown, locked, over, or not from our own page. */
  const receive = async (handler: Handler, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
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
    return handler(arrival, request, reply)
  }
  const arrive = (handler: Handler) => (request: FastifyRequest, reply: FastifyReply) =>
    entrance.pass(() => receive(handler, request, reply))

  /** Pages are shown although their note could not be kept: nothing counts by being shown. */
  const noteQuietly = (request: FastifyRequest, visit: Visit, step: VisitStep): Promise<void> =>
    options.recipient.visits.note(visit, step).catch(err => request.log.warn({ err }, 'an access was not noted'))

  const shown =
    (step: VisitStep, handler: Handler): Handler =>
    async (arrival, request, reply) => {
      await noteQuietly(request, arrival.visit, step)
      return handler(arrival, request, reply)
    }

  /** What only the opened message leads to. */
  const opened =
    (handler: Handler): Handler =>
    async (arrival, request, reply) =>
      arrival.session ? handler(arrival, request, reply) : reply.redirect(arrival.path, 303)

  const walk = createWalk(options)
  app.get(base, hidden, arrive(shown('landing', walk.landing)))
  app.post(base, hidden, arrive(walk.open))
  app.get(`${base}/pergunta`, hidden, arrive(shown('question', walk.question)))
  app.post(`${base}/pergunta`, hidden, arrive(walk.answer))
  app.get(`${base}/mensagem`, hidden, arrive(opened(shown('message', walk.message))))
  app.get(`${base}/conteudo`, hidden, arrive(opened(walk.content)))
  app.get(`${base}/baixar`, hidden, arrive(opened(shown('file', walk.contentFile))))
  app.get(`${base}/anexo/:ordinal`, hidden, arrive(opened(shown('file', walk.file))))
  app.post(`${base}/confirmar`, hidden, arrive(opened(walk.confirm)))
  app.get(`${base}/recibo`, hidden, arrive(opened(shown('receipt', walk.receipt))))
  app.get(`${base}/nao-sou-eu`, hidden, arrive(shown('not me', walk.stranger)))
  app.post(`${base}/nao-sou-eu`, hidden, arrive(walk.disown))
  app.get(`${base}/*`, hidden, (_request, reply) => sendPage(reply, 404, unknownPage))
}

/** The steps of the walk, in the order in which a person takes them. */
function createWalk({ recipient, cleaner }: PageOptions) {
  const enter = (reply: FastifyReply, { visited, path, site }: Arrival): FastifyReply =>
    reply
      .header(
        'set-cookie',
        sessionCookie(makeSession(recipient.sessionKey, visited.target, recipient.now()), path, site.protocol === 'https:'),
      )
      .redirect(`${path}/mensagem`, 303)

  const showMessage = (reply: FastifyReply, arrival: Arrival, again: boolean): FastifyReply =>
    sendPage(reply, 200, messagePage({ ...arrival, again }))

  const landing: Handler = async (arrival, _request, reply) =>
    sendPage(reply, 200, landingPage({ ...arrival, host: arrival.site.host }))

  const open: Handler = async (arrival, _request, reply) => {
    await recipient.open(arrival.visited, arrival.visit)
    return arrival.visited.validation === null ? enter(reply, arrival) : reply.redirect(`${arrival.path}/pergunta`, 303)
  }

  const question: Handler = async (arrival, _request, reply) => {
    if (arrival.visited.validation === null) return reply.redirect(arrival.path, 303)
    const lockedMs = await recipient.findLock(arrival.visited.target.notification)
    return sendPage(reply, 200, questionPage({ ...arrival, lockedMs, triesLeft: null }))
  }

  const answer: Handler = async (arrival, request, reply) => {
    if (arrival.visited.validation === null) return reply.redirect(arrival.path, 303)
    const verdict = await recipient.answer(arrival.visited, arrival.visit, field(request, 'resposta') ?? '')
    if (verdict.right) return enter(reply, arrival)
    if (verdict.lockedMs > 0) reply.header('retry-after', seconds(verdict.lockedMs))
    return sendPage(reply, verdict.lockedMs > 0 ? 429 : 422, questionPage({ ...arrival, ...verdict }))
  }

  const message: Handler = async (arrival, _request, reply) => showMessage(reply, arrival, false)

  const content: Handler = async ({ visited }, _request, reply) => {
    const cleaned = await cleaner.clean((await recipient.findContent(visited.target.notification)) ?? '')
    return reply
      .type('text/html; charset=utf-8')
      .headers({ ...privateHeaders, 'content-security-policy': CONTENT_POLICY })
      .send(contentPage(cleaned ?? UNSHOWN))
  }

  /** To keep: as it is shown, or as plain text where it cannot be shown. */
  const contentFile: Handler = async ({ visited }, _request, reply) => {
    const original = (await recipient.findContent(visited.target.notification)) ?? ''
    const cleaned = await cleaner.clean(original)
    return cleaned === null
      ? sendDownload(reply, { name: 'notificacao.txt', bytes: Buffer.from(original) })
      : sendDownload(reply, { name: 'notificacao.html', bytes: Buffer.from(contentPage(cleaned)) })
  }

  const file: Handler = async ({ visited }, request, reply) => {
    const { ordinal } = request.params as { ordinal: string }
    const found = /^[1-9]\d{0,3}$/.test(ordinal) ? await recipient.readFile(visited.target.notification, Number(ordinal)) : null
    return found === null ? sendPage(reply, 404, unknownPage) : sendDownload(reply, found)
  }

  const confirm: Handler = async (arrival, _request, reply) => {
    const byPerson = await recipient.confirm(arrival.visit)
    return byPerson ? reply.redirect(`${arrival.path}/recibo`, 303) : showMessage(reply, arrival, true)
  }

  const receipt: Handler = async (arrival, _request, reply) => {
    const { target } = arrival.visited
    const confirmation = await recipient.findConfirmation(target)
    if (confirmation === null) return reply.redirect(`${arrival.path}/mensagem`, 303)
    const contentSha256 = sha256((await recipient.findContent(target.notification)) ?? '')
    return sendPage(reply, 200, receiptPage({ ...arrival, confirmation, contentSha256 }))
  }

  /** Who confirmed is the recipient: they can no longer say that they are not. */
  const stranger: Handler = async (arrival, _request, reply) =>
    arrival.visited.confirmedAt === null
      ? sendPage(reply, 200, strangerPage({ ...arrival, again: false }))
      : reply.redirect(arrival.path, 303)

  const disown: Handler = async (arrival, _request, reply) => {
    if (arrival.visited.confirmedAt !== null) return reply.redirect(arrival.path, 303)
    const byPerson = await recipient.disown(arrival.visit)
    return sendPage(reply, 200, byPerson ? disownedPage(arrival.visited) : strangerPage({ ...arrival, again: true }))
  }

  return { landing, open, question, answer, message, content, contentFile, file, confirm, receipt, stranger, disown }
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

const seconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))
