import type { Mode } from '../../../domain/access/token.js'
import { settingsOf } from '../../../domain/account.js'
import type { Clock } from '../../../domain/clock.js'
import type { Change } from '../../../domain/delivery/change.js'
import { sha256 } from '../../../domain/evidence/evidence.js'
import { hideLinksIn } from '../../../domain/recipient/link.js'
import { html } from '../../../domain/text/html.js'
import { readEmailAddress } from '../../../domain/text/mail-address.js'
import { MINUTE_MS } from '../../../domain/units.js'
import { namesCarrier } from '../../carrier-name.js'
import { SendError } from '../../provider.js'
import { emailSettings } from '../channel.js'
import type { EmailMessage } from '../email-message.js'
import { isSafeAddress } from '../message/compose.js'
import type { ForwardCarrier } from './carriers.js'
import type { ClaimedForward, ForwardJobs } from './forward-store.js'

export interface ForwarderParts {
  jobs: ForwardJobs
  clock: Clock
  record(change: Change): Promise<unknown>
  /** The carriers of a mode, the preferred one first. */
  carriers(mode: Mode): Promise<readonly ForwardCarrier[]>
  defaultFrom: string
  bounceDomain: string
  /** The envelope sender of a forwarded reply. */
  envelopeFrom(notification: string): string
  retryMs?: readonly number[]
}

const RETRY_MS = [5_000, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, ...Array<number>(22).fill(60 * MINUTE_MS)]
const HELD_MS = 5 * MINUTE_MS
const BATCH = 10
/** Longer than any send may take. */
const LOST_MS = 150 * MINUTE_MS

/** Forwards recipients' replies to the mailbox that the account names: docs/adr/0029-replies-are-forwarded-once.md. */
export function createForwarder(parts: ForwarderParts) {
  const { jobs, retryMs = RETRY_MS } = parts

  async function forward(claim: ClaimedForward, signal: AbortSignal): Promise<void> {
    const message = messageOf(claim, parts)
    if (message === null) return end(claim, 'failed', { reason: NOWHERE })
    // A carrier that cannot be opened got nothing.
    const opened = await parts.carriers(claim.mode).catch(() => [])
    const carriers = opened.filter(({ identity }) => !claim.heldCarriers.some(held => namesCarrier(held, identity)))
    // Held back by a person, for as long as it takes.
    if (carriers.length === 0 && opened.length > 0) return jobs.putBack(claim, HELD_MS)
    try {
      const answer = await sendBy(carriers, message, signal)
      await end(claim, 'done', { to: message.to, answer })
    } catch (error) {
      if (!(error instanceof SendError)) throw error
      const delayMs = error.kind === 'temporary' || error.kind === 'throttled' ? retryMs[claim.attempt - 1] : undefined
      if (delayMs !== undefined) return jobs.repeat(claim, Math.max(delayMs, error.retryAfterMs ?? 0))
      const isUnknown = error.kind === 'uncertain'
      const reason = isUnknown ? UNANSWERED : error.reason
      await end(claim, isUnknown ? 'unknown' : 'failed', {
        to: message.to,
        reason,
        ...(error.answer === null ? {} : { answer: error.answer }),
      })
    }
  }

  /** The job is ended before its event is recorded: a crash in between loses the event, and never forwards the reply twice. */
  async function end(
    claim: Pick<ClaimedForward, 'notification' | 'replyId'>,
    state: 'done' | 'failed' | 'unknown',
    data: { to?: string; reason?: string; answer?: string },
  ): Promise<void> {
    await jobs.end(claim, state)
    await tell(claim.notification, { forwarded: state === 'done', ...data })
  }

  const tell = (notification: string, data: { forwarded: boolean; to?: string; reason?: string; answer?: string }) =>
    parts.record({
      kind: 'fact',
      notification,
      fact: { channel: 'email', type: 'note', at: new Date(parts.clock()), source: 'forward', data },
    })

  return async (signal: AbortSignal): Promise<void> => {
    for (const { notification } of await jobs.endLost(LOST_MS)) await tell(notification, { forwarded: false, reason: UNANSWERED })
    for (let claims = await jobs.claim(BATCH); claims.length > 0; claims = await jobs.claim(BATCH)) {
      await Promise.all(claims.map(claim => forward(claim, signal)))
      if (signal.aborted) return
    }
  }
}

const NOWHERE = 'A conta não tem um endereço em email.replies.forward, ou ele é do próprio domínio de retorno.'
const UNANSWERED = 'Não se sabe se o servidor recebeu a mensagem: ela não é repetida.'

/** The next carrier takes it only where the one before is known not to have it. */
export async function sendBy(carriers: readonly ForwardCarrier[], message: EmailMessage, signal: AbortSignal): Promise<string> {
  let failure = new SendError('temporary', 'Nenhuma operadora de e-mail está ligada.')
  for (const { carrier } of carriers) {
    try {
      return (await carrier.send(message, signal)).answer
    } catch (error) {
      if (!(error instanceof SendError) || error.kind === 'uncertain' || error.kind === 'permanent') throw error
      failure = error
    }
  }
  throw failure
}

/** null: the account switched forwarding off, or its address belongs to this gateway and a forwarded reply would return as a new reply. */
function messageOf(
  claim: ClaimedForward,
  { defaultFrom, bounceDomain, envelopeFrom, clock }: ForwarderParts,
): EmailMessage | null {
  const settings = settingsOf(emailSettings, claim.settings)
  const to = settings['email.replies.forward']
  if (to === '' || to.toLowerCase().endsWith(`@${bounceDomain}`)) return null
  const { reply, notification, replyId } = claim
  const name = claim.recipientName ?? claim.recipient ?? ''
  const isRecipient = reply.from !== null && reply.from.toLowerCase() === claim.recipient?.toLowerCase()
  const lines = [
    `Resposta de ${name} <${reply.from ?? 'endereço desconhecido'}> à notificação ${notification}${claim.subject === null ? '' : ` ("${claim.subject}")`}.`,
    ...(isRecipient ? [] : ['Atenção: veio de um endereço que não é o do destinatário, e não conta como resposta dele.']),
    ...(reply.files.length === 0 ? [] : [`Anexos da resposta, que não são encaminhados: ${reply.files.join(', ')}.`]),
  ].map(hideLinksIn)
  const text = hideLinksIn(reply.text)
  const from = reply.from === null ? null : readEmailAddress(reply.from)
  return {
    // Not the form of a notification's own reference: a bounce of this message is never one of the notification.
    reference: `${notification}.forward.${sha256(replyId).slice(0, 16)}`,
    envelopeFrom: envelopeFrom(notification),
    to,
    toName: '',
    from: settings['email.from'] || defaultFrom,
    fromName: settings['email.name'] || claim.accountName,
    subject: `Resposta de ${name}: ${claim.subject ?? notification}`,
    text: `${lines.join('\n')}\n\n${text}\n`,
    html: html`<!doctype html>
<html><head><meta charset="utf-8"></head><body>${lines.map(line => html`<p style="color:#555">${line}</p>`)}<pre style="white-space:pre-wrap;font:inherit">${text}</pre></body></html>
`.text,
    attachments: [],
    date: new Date(clock()),
    // The sender's answer goes to the person, not back here.
    ...(from !== null && isSafeAddress(from) ? { replyTo: from, replyToName: isRecipient ? name : '' } : {}),
  }
}
