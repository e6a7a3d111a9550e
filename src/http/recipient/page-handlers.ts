import type { FastifyReply, FastifyRequest } from 'fastify'
import { sha256 } from '../../domain/evidence.js'
import { makeSession } from '../../domain/session.js'
import type { Recipient } from '../../engine/recipient/recipient.js'
import type { Visit } from '../../engine/recipient/visits.js'
import { field, sessionCookie } from './arrival.js'
import { CONTENT_POLICY, contentPage, UNSHOWN } from './content.js'
import type { ContentCleaner } from './content-cleaner.js'
import { sendDownload } from './download.js'
import { unknownPage, wrongPersonReportedPage } from './end-pages.js'
import { landingPage } from './landing-page.js'
import { sendInPieces } from './large-responses.js'
import { type LinkView, sendPage } from './layout.js'
import { messagePage } from './message-page.js'
import { questionPage } from './question-page.js'
import { receiptPage } from './receipt-page.js'
import { wrongPersonPage } from './wrong-person-page.js'

/** A request to a valid link. */
export interface Arrival extends LinkView {
  visit: Visit
  session: boolean
  site: URL
}

export type Handler = (arrival: Arrival, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The handlers of the recipient's pages, in the order in which a person sees them. */
export function createPageHandlers(recipient: Recipient, cleaner: ContentCleaner) {
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
    return sendPage(reply, 200, questionPage({ ...arrival, lockedMs, attemptsLeft: null }))
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
    reply.type('text/html; charset=utf-8').header('content-security-policy', CONTENT_POLICY)
    return sendInPieces(reply, Buffer.from(contentPage(cleaned ?? UNSHOWN)))
  }

  /** Downloads the message as it is shown, or as plain text when it cannot be shown. */
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
    const byPerson = await recipient.confirm(arrival.visited, arrival.visit)
    return byPerson ? reply.redirect(`${arrival.path}/recibo`, 303) : showMessage(reply, arrival, true)
  }

  const receipt: Handler = async (arrival, _request, reply) => {
    const { target } = arrival.visited
    const confirmation = await recipient.findConfirmation(target)
    if (confirmation === null) return reply.redirect(`${arrival.path}/mensagem`, 303)
    const contentSha256 = sha256((await recipient.findContent(target.notification)) ?? '')
    return sendPage(reply, 200, receiptPage({ ...arrival, confirmation, contentSha256 }))
  }

  /** A person who confirmed the receipt cannot report afterwards that they are not the recipient. */
  const wrongPerson: Handler = async (arrival, _request, reply) =>
    arrival.visited.confirmedAt === null
      ? sendPage(reply, 200, wrongPersonPage({ ...arrival, again: false }))
      : reply.redirect(arrival.path, 303)

  const reportWrongPerson: Handler = async (arrival, _request, reply) => {
    if (arrival.visited.confirmedAt !== null) return reply.redirect(arrival.path, 303)
    const byPerson = await recipient.reportWrongPerson(arrival.visit)
    return sendPage(
      reply,
      200,
      byPerson ? wrongPersonReportedPage(arrival.visited) : wrongPersonPage({ ...arrival, again: true }),
    )
  }

  return {
    landing,
    open,
    question,
    answer,
    message,
    content,
    contentFile,
    file,
    confirm,
    receipt,
    wrongPerson,
    reportWrongPerson,
  }
}

export const seconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))
