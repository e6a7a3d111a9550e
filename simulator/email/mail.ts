import { addressParser, decodeWords } from 'postal-mime'
import { type Message, notificationIn } from '../message.js'

/** One e-mail to one recipient. */
export interface Mail extends Message {
  channel: 'email'
  messageId: string | null
  envelope: Envelope
  /** The header section as received. */
  header: string
}

/** The parameters of RFC 3461, decoded; null when absent. */
export interface Envelope {
  from: string
  to: string
  envid: string | null
  ret: 'FULL' | 'HDRS' | null
  notify: readonly string[] | null
  orcpt: string | null
}

/** Real headers have a few kilobytes. Reports return no more than this. */
const MAX_HEADER = 32_768

export function readMail(id: string, receivedAt: Date, envelope: Envelope, raw: Buffer): Mail {
  const end = raw.indexOf('\r\n\r\n')
  const header = raw.subarray(0, Math.min(end === -1 ? raw.length : end, MAX_HEADER)).toString('utf8')
  const from = addressParser(findHeader(header, 'from') ?? '', { flatten: true })[0]
  const messageId = copy(findHeader(header, 'message-id'))
  return {
    id,
    channel: 'email',
    receivedAt,
    to: envelope.to,
    from: from?.address ?? '',
    fromName: decodeWords(from?.name ?? ''),
    subject: decodeWords(findHeader(header, 'subject') ?? ''),
    reference: messageId,
    notification: notificationIn(messageId),
    messageId,
    envelope,
    header,
    answer: null,
    reports: [],
  }
}

/** The address that asks for a disposition notification (RFC 8098), or null. */
export const receiptAddress = ({ header }: Mail): string | null =>
  addressParser(findHeader(header, 'disposition-notification-to') ?? '', { flatten: true })[0]?.address || null

/** A substring keeps the whole string in memory, and the Message-ID outlives the mail in the log. */
const copy = (text: string | null): string | null => (text === null ? null : Buffer.from(text).toString())

/** The first header with that name, unfolded. */
export function findHeader(header: string, name: string): string | null {
  const lines = header.split('\r\n')
  const first = lines.findIndex(line => line.slice(0, name.length + 1).toLowerCase() === `${name}:`)
  if (first === -1) return null
  let last = first + 1
  while (last < lines.length && /^[ \t]/.test(lines[last]!)) last++
  return lines
    .slice(first, last)
    .join('')
    .slice(name.length + 1)
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
}
