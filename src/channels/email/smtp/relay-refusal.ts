import { SendError } from '../../provider.js'
import { findStatus } from '../status-code.js'
import type { SmtpRefusal } from './reply.js'

/**
 * Decides whether a relay's refusal concerns the message or our account. A recipient's own server refuses the message; a relay
 * also refuses an account that is not signed in, may not relay, has no credits left or uses an unknown sender. The operator can
 * repair the account, so the message is retried.
 */
export function classifyRelayRefusal(error: SmtpRefusal): SendError {
  const { stage, kind, code } = error
  const answer = error.answer ?? ''
  // The refusal of one sender must not stop the others. 421, 530 and 535 concern the connection.
  if (stage === 'sender' && kind !== 'throttled' && ![421, 530, 535].includes(code)) {
    return isTooBig(answer, code) ? error : retryable(error, 'message', error.reason)
  }
  if (kind !== 'permanent' || /^5\.[12]\./.test(statusOf(answer))) return error
  if (ABOUT_SENDER.test(answer)) return retryable(error, 'message', 'O servidor de e-mail recusou o remetente.')
  if (!ABOUT_US.test(answer)) return error
  // After DATA the content may have caused the answer, so the refusal must not stop other messages.
  const scope = stage === 'recipient' ? 'carrier' : 'message'
  return retryable(error, scope, 'O servidor de e-mail recusou enviar por esta máquina ou conta.')
}

/** Phrases of Postfix, Exchange, Exim and the large relay services. They often answer RCPT with a decision made before it. */
const ABOUT_SENDER =
  /sender address rejected|(sender|from|e-?mail address|domain|identity)\b.{0,60}\b(not|un)[ -]?verified|unverified (sender|address|domain)/i
const ABOUT_US =
  /\brelay(ing)?\b.{0,40}\b(denied|not|prohibited|disallowed)|(unable|not (allowed|permitted|authori[sz]ed)) to relay|client host rejected|helo command rejected|authentication (is )?required|not authenticated|(insufficient|no|out of|not enough)\b.{0,20}\bcredits?\b|\bcredits?\b.{0,20}\b(exhausted|exceeded|used up)|your (account|subscription|plan)\b/i

const statusOf = (answer: string): string => findStatus(answer) ?? ''

const isTooBig = (answer: string, code: number): boolean => code === 552 || /^5\.(3\.4|2\.3)$/.test(statusOf(answer))

const retryable = (
  { answer, retryAfterMs, facts, cause }: SmtpRefusal,
  scope: 'carrier' | 'message',
  reason: string,
): SendError => new SendError('temporary', reason, { scope, answer, retryAfterMs, facts, cause })
