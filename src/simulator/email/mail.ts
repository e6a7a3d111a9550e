import { addressParser, decodeWords } from 'postal-mime'

/** One e-mail as it reached one recipient, without its bytes: small enough to outlive them while reports are under way. */
export interface Mail {
  id: string
  channel: 'email'
  receivedAt: Date
  to: string
  from: string
  fromName: string
  subject: string
  messageId: string | null
  envelope: Envelope
  /** The header section as it came. */
  header: string
  /** What the sender was answered; null: nothing. */
  answer: string | null
  reports: Report[]
}

/** The parameters are those of RFC 3461, decoded; null: not given. */
export interface Envelope {
  from: string
  to: string
  envid: string | null
  ret: 'FULL' | 'HDRS' | null
  notify: readonly string[] | null
  orcpt: string | null
}

export type ReportType = 'delivered' | 'failed' | 'delayed' | 'reply' | 'away' | 'complaint' | 'confirmation' | 'open' | 'scan'

/** Something that the recipient's side does about a mail: waiting to be done, done, refused by the sender's side, or given up. */
export interface Report {
  id: string
  type: ReportType
  /** RFC 3463, of delivery reports. */
  status: string | null
  state: 'waiting' | 'done' | 'refused' | 'expired'
  at: Date
  doneAt: Date | null
  /** The answer it got, or why it was not done. */
  detail: string | null
}

/** Real ones have a few kilobytes; what lies beyond is not returned in reports. */
const MAX_HEADER = 32_768
const MAX_REPORTS = 200

export function readMail(id: string, receivedAt: Date, envelope: Envelope, raw: Buffer): Mail {
  const end = raw.indexOf('\r\n\r\n')
  const header = raw.subarray(0, Math.min(end === -1 ? raw.length : end, MAX_HEADER)).toString('utf8')
  const from = addressParser(findHeader(header, 'from') ?? '', { flatten: true })[0]
  return {
    id,
    channel: 'email',
    receivedAt,
    to: envelope.to,
    from: from?.address ?? '',
    fromName: decodeWords(from?.name ?? ''),
    subject: decodeWords(findHeader(header, 'subject') ?? ''),
    messageId: copy(findHeader(header, 'message-id')),
    envelope,
    header,
    answer: null,
    reports: [],
  }
}

/** Part of a string keeps the whole of it in memory, and this part outlives the mail in the log. */
const copy = (text: string | null): string | null => (text === null ? null : Buffer.from(text).toString())

/** The first header of that name on one line. */
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

export function addReport(mail: Mail, report: Report): Report {
  if (mail.reports.length >= MAX_REPORTS) mail.reports.shift()
  mail.reports.push(report)
  return report
}
