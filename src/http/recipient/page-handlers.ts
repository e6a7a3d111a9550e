import type { FastifyReply, FastifyRequest } from 'fastify'
import { moduleOf } from '../../channels/registry.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { makeLinkCode } from '../../domain/recipient/link.js'
import { makeSession } from '../../domain/recipient/session.js'
import type { RecipientActions } from '../../engine/recipient/recipient.js'
import type { Visit } from '../../engine/recipient/visits.js'
import { field, sessionCookie } from './arrival.js'
import { CONTENT_POLICY, contentPage, FRAMED_POLICY, framedPage, UNSHOWN } from './content.js'
import type { ContentCleaner } from './content-cleaner.js'
import { unknownPage, wrongPersonReportedPage } from './end-pages.js'
import { landingPage, questionPage, wrongPersonPage } from './entry-pages.js'
import { sendDownload, sendInPieces } from './large-responses.js'
import { type LinkView, sendPage } from './layout.js'
import { FRAMED, messagePage, receiptPage } from './message-pages.js'

/** A request to a valid link. */
export interface Arrival extends LinkView {
  visit: Visit
  session: boolean
  site: URL
}

export type Handler = (arrival: Arrival, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const ORIGINAL = 'notificacao-original.txt'

/** Another channel's confirmation does not count: this message may have reached somebody else. */
const isConfirmedHere = ({ visited }: Arrival): boolean => visited.confirmedBy === visited.target.channel

export interface HandlerParts {
  recipient: RecipientActions
  cleaner: ContentCleaner
  verificationOf(notification: string): Verification
}

/** The handlers of the recipient's pages, in the order in which a person sees them. */
export function createPageHandlers({ recipient, cleaner, verificationOf }: HandlerParts) {
  const enter = (reply: FastifyReply, { visited, path, site }: Arrival): FastifyReply => {
    const session = makeSession(recipient.sessionKey, visited.target, recipient.now())
    const cookie = sessionCookie(session, path, site.protocol === 'https:')
    return reply.header('set-cookie', cookie).redirect(`${path}/mensagem`, 303)
  }

  const readOriginal = async (notification: string): Promise<Buffer> =>
    Buffer.from((await recipient.findContent(notification)) ?? '')

  /**
   * The receipt's address is a link of the channel that was confirmed. A recipient may show the receipt to the sender, and a link of
   * another channel would let the sender read there in the recipient's place.
   */
  const receiptAddress = ({ visited: { target, confirmedBy }, path, site }: Arrival): string => {
    const code = () => makeLinkCode(recipient.linkKey, target.notification, moduleOf(confirmedBy!).linkCode)
    return `${site.origin}${confirmedBy === target.channel ? path : `/n/${code()}`}/recibo`
  }

  return {
    async landing(arrival, _request, reply) {
      return sendPage(reply, 200, landingPage(arrival, arrival.site.host))
    },

    async open(arrival, _request, reply) {
      await recipient.open(arrival.visited, arrival.visit)
      return arrival.visited.validation === null ? enter(reply, arrival) : reply.redirect(`${arrival.path}/pergunta`, 303)
    },

    async question(arrival, _request, reply) {
      if (arrival.visited.validation === null) return reply.redirect(arrival.path, 303)
      return sendPage(reply, 200, questionPage(arrival, await recipient.findLock(arrival.visited.target.notification), null))
    },

    async answer(arrival, request, reply) {
      if (arrival.visited.validation === null) return reply.redirect(arrival.path, 303)
      const verdict = await recipient.answer(arrival.visited, arrival.visit, field(request, 'resposta') ?? '')
      if (verdict.right) return enter(reply, arrival)
      const { lockedMs, attemptsLeft } = verdict
      if (lockedMs > 0) reply.header('retry-after', seconds(lockedMs))
      return sendPage(reply, lockedMs > 0 ? 429 : 422, questionPage(arrival, lockedMs, attemptsLeft))
    },

    async message(arrival, _request, reply) {
      return sendPage(reply, 200, messagePage(arrival, 'counted'))
    },

    async content({ visited }, request, reply) {
      const cleaned = (await cleaner.clean((await recipient.findContent(visited.target.notification)) ?? '')) ?? UNSHOWN
      const framed = FRAMED in (request.query as object)
      reply.type('text/html; charset=utf-8').header('content-security-policy', framed ? FRAMED_POLICY : CONTENT_POLICY)
      return sendInPieces(reply, Buffer.from(framed ? framedPage(cleaned) : contentPage(cleaned)))
    },

    /** Downloads the message as it is shown, or as plain text when it cannot be shown. */
    async contentFile({ visited }, _request, reply) {
      const original = (await recipient.findContent(visited.target.notification)) ?? ''
      const cleaned = await cleaner.clean(original)
      return cleaned === null
        ? sendDownload(reply, { name: 'notificacao.txt', bytes: Buffer.from(original) })
        : sendDownload(reply, { name: 'notificacao.html', bytes: Buffer.from(contentPage(cleaned)) })
    },

    /** Downloads the content as the sender sent it, whose hash is on the receipt. As plain text, so that none of its scripts runs. */
    async originalFile({ visited }, _request, reply) {
      return sendDownload(reply, { name: ORIGINAL, bytes: await readOriginal(visited.target.notification) })
    },

    async file({ visited }, request, reply) {
      const { ordinal } = request.params as { ordinal: string }
      const found = /^[1-9]\d{0,3}$/.test(ordinal) ? await recipient.readFile(visited.target.notification, Number(ordinal)) : null
      return found === null ? sendPage(reply, 404, unknownPage) : sendDownload(reply, found)
    },

    /** A receipt that was confirmed on another channel is not confirmed again on this one, whose status stays as it is. */
    async confirm(arrival, _request, reply) {
      if (arrival.visited.confirmedAt !== null) return reply.redirect(`${arrival.path}/recibo`, 303)
      const counted = await recipient.confirm(arrival.visited, arrival.visit)
      return counted === 'counted'
        ? reply.redirect(`${arrival.path}/recibo`, 303)
        : sendPage(reply, 200, messagePage(arrival, counted))
    },

    async receipt(arrival, _request, reply) {
      const { target, confirmedBy } = arrival.visited
      const confirmation = confirmedBy === null ? null : await recipient.findConfirmation({ ...target, channel: confirmedBy })
      if (confirmation === null) return reply.redirect(`${arrival.path}/mensagem`, 303)
      const bytes = await readOriginal(target.notification)
      const original = { name: ORIGINAL, size: bytes.length, sha256: sha256(bytes) }
      const verification = verificationOf(target.notification)
      return sendPage(
        reply,
        200,
        receiptPage(arrival, { confirmation, address: receiptAddress(arrival), verification, original }),
      )
    },

    /** A person who confirmed the receipt cannot report afterwards that they are not the recipient. */
    async wrongPerson(arrival, _request, reply) {
      if (isConfirmedHere(arrival)) return reply.redirect(arrival.path, 303)
      return sendPage(reply, 200, wrongPersonPage(arrival, false))
    },

    async reportWrongPerson(arrival, _request, reply) {
      if (isConfirmedHere(arrival)) return reply.redirect(arrival.path, 303)
      const counted = await recipient.reportWrongPerson(arrival.visit)
      // The receipt was confirmed while this page was open.
      if (counted === 'noted') return reply.redirect(arrival.path, 303)
      return sendPage(
        reply,
        200,
        counted === 'program' ? wrongPersonPage(arrival, true) : wrongPersonReportedPage(arrival.visited),
      )
    },
  } satisfies Record<string, Handler>
}

export const seconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)))
