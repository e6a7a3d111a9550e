import type { Email } from 'postal-mime'
import { findStatus } from '../status-code.js'
import type { DeliveryEntry } from './reports.js'

const DAEMON = /^(mailer-daemon|postmaster|mail-daemon|mdaemon|bounce)/i
const FAILURE =
  /\b(failure notice|undeliver(ed|able)|delivery (status notification|failure|has failed|failed)|mail delivery (failed|system)|returned mail|permanent error|could not be delivered|n[ãa]o (foi|p[ôo]de ser|entregue)|devolvid[ao])/i
const DELAY = /\b(delayed|still being retried|will (be retried|retry|keep trying)|warning|temporar(y|ily)|atrasad[ao])\b/i

/**
 * Reads bounces without a machine-readable part, as qmail, Exim and old gateways write them. Only messages from a mail system
 * count, so that a person's reply that quotes an error remains a reply.
 */
export function readPlainBounce(email: Email, text: string): { entry: DeliveryEntry; messages: string[] } | null {
  const failedRecipients = email.headers.find(({ key }) => key === 'x-failed-recipients')?.value
  const sender = email.from?.address ?? ''
  const nobody = email.headers.some(({ key, value }) => key === 'return-path' && value.trim() === '<>')
  if (failedRecipients === undefined && !(DAEMON.test(sender) || (nobody && sender === ''))) return null
  const body = text.slice(0, 20_000)
  const words = `${email.subject ?? ''}\n${body.slice(0, 2_000)}`
  if (failedRecipients === undefined && !FAILURE.test(words) && !DELAY.test(words)) return null
  const status = findStatus(body)
  const permanent = status === null ? failedRecipients !== undefined || !DELAY.test(words) : status.startsWith('5')
  const named = failedRecipients?.split(',').map(address => address.trim())
  // The headers of the copy name our recipient too, whoever the bounce is about.
  const copy = body.search(/^[ \t>]*(return-path|received|from|to|subject|date|message-id):/im)
  const recipients = named ?? findAll(/<([^<>\s@]{1,64}@[^<>\s@]{1,255})>/g, copy === -1 ? body : body.slice(0, copy))
  return {
    entry: { action: permanent ? 'failed' : 'delayed', status, diagnostic: diagnosticLine(body), recipients },
    // A copy of the message, or of its headers, follows the words.
    messages: findAll(/^[ \t>]*message-id:\s{0,4}<([^<>\s]{1,320})>/gim, text),
  }
}

const MAX_FOUND = 20

const findAll = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].slice(0, MAX_FOUND).map(([, found]) => found!)

/** The line with an SMTP reply code, or else with an enhanced status code. */
function diagnosticLine(body: string): string | null {
  const lines = body.split(/\r\n|\r|\n/).map(line => line.trim())
  const found = lines.find(line => /(^|\s)[45]\d\d[ -]/.test(line)) ?? lines.find(line => findStatus(line) !== null)
  return found?.slice(0, 1_000) ?? null
}
