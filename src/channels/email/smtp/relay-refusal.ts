import { SendError } from '../../provider.js'
import { findStatus } from '../status-code.js'
import type { SmtpRefusal } from './reply.js'

/**
 * What a refusal by a relay is about. A recipient's own server that says no speaks of the message; a relay may speak of us: not
 * signed in, not allowed to relay, credits used up, a sender that it does not know. The operator can mend that and the recipient
 * has no part in it, so the message stays good.
 */
export function ofRelay(error: SmtpRefusal): SendError {
  const { stage, kind, code } = error
  const answer = error.answer ?? ''
  // One sender's trouble keeps no other sender back; 421, 530 and 535 speak of the connection.
  if (stage === 'sender' && kind !== 'throttled' && ![421, 530, 535].includes(code)) {
    return isTooBig(answer, code) ? error : again(error, 'message', error.reason)
  }
  if (kind !== 'permanent' || /^5\.[12]\./.test(statusOf(answer))) return error
  if (ABOUT_SENDER.test(answer)) return again(error, 'message', 'O servidor de e-mail recusou o remetente.')
  if (!ABOUT_US.test(answer)) return error
  // Once the content is known nobody can tell whether it had a part in the answer: it must not stop what others send.
  const scope = stage === 'recipient' ? 'carrier' : 'message'
  return again(error, scope, 'O servidor de e-mail recusou enviar por esta máquina ou conta.')
}

/** In the words of Postfix, Exchange, Exim and of the large services; what they say at RCPT was often decided before it. */
const ABOUT_SENDER =
  /sender address rejected|(sender|from|e-?mail address|domain|identity)\b.{0,60}\b(not|un)[ -]?verified|unverified (sender|address|domain)/i
const ABOUT_US =
  /\brelay(ing)?\b.{0,40}\b(denied|not|prohibited|disallowed)|(unable|not (allowed|permitted|authori[sz]ed)) to relay|client host rejected|helo command rejected|authentication (is )?required|not authenticated|(insufficient|no|out of|not enough)\b.{0,20}\bcredits?\b|\bcredits?\b.{0,20}\b(exhausted|exceeded|used up)|your (account|subscription|plan)\b/i

const statusOf = (answer: string): string => findStatus(answer) ?? ''

const isTooBig = (answer: string, code: number): boolean => code === 552 || /^5\.(3\.4|2\.3)$/.test(statusOf(answer))

const again = ({ answer, retryAfterMs, cause }: SmtpRefusal, scope: 'carrier' | 'message', reason: string): SendError =>
  new SendError('temporary', reason, {
    scope,
    ...(answer === null ? {} : { answer }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    cause,
  })
