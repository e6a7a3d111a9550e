import { addressParser } from 'postal-mime'
import { DAY_MS } from '../../src/domain/units.js'
import type { Stamp } from '../message.js'
import { FATE_DOMAIN } from './fates.js'
import { findHeader, type Mail, receiptAddress } from './mail.js'

export interface Mailing {
  /** Envelope sender; empty for reports, so that no server reports on a report (RFC 5321, 4.5.5). */
  from: string
  /** Addresses, tried in turn until one is accepted. */
  to: string[]
  raw: string
}

const RELAY = `relay.${FATE_DOMAIN}`
const EXCHANGER = `mx.${FATE_DOMAIN}`
const RETRY_FOR_MS = 5 * DAY_MS

export interface DeliveryFacts {
  action: 'delivered' | 'failed' | 'delayed'
  status: string
  diagnostic: string
}

const DELIVERY_TEXTS: Record<DeliveryFacts['action'], { subject: string; text: string }> = {
  delivered: { subject: 'Aviso de entrega', text: 'Sua mensagem foi entregue na caixa postal de' },
  failed: {
    subject: 'Mensagem não entregue',
    text: 'Sua mensagem não pôde ser entregue e não será tentada novamente. Destinatário:',
  },
  delayed: {
    subject: 'Entrega atrasada',
    text: 'Sua mensagem ainda não foi entregue; novas tentativas serão feitas. Destinatário:',
  },
}

/** RFC 3464. `original` is null when only the headers go back (RET=HDRS, RFC 3461). */
export function deliveryReport(mail: Mail, facts: DeliveryFacts, stamp: Stamp, original: string | null): Mailing {
  const { envelope } = mail
  const texts = DELIVERY_TEXTS[facts.action]
  const message = [
    `Reporting-MTA: dns; ${RELAY}`,
    ...(envelope.envid === null ? [] : [`Original-Envelope-Id: ${oneLine(envelope.envid)}`]),
    `Arrival-Date: ${mailDate(mail.receivedAt)}`,
  ]
  const recipient = [
    ...(envelope.orcpt === null ? [] : [`Original-Recipient: ${oneLine(envelope.orcpt)}`]),
    `Final-Recipient: rfc822; ${envelope.to}`,
    `Action: ${facts.action}`,
    `Status: ${facts.status}`,
    `Remote-MTA: dns; ${EXCHANGER}`,
    `Diagnostic-Code: smtp; ${facts.diagnostic}`,
    `Last-Attempt-Date: ${mailDate(stamp.at)}`,
    ...(facts.action === 'delayed' ? [`Will-Retry-Until: ${mailDate(new Date(stamp.at.getTime() + RETRY_FOR_MS))}`] : []),
  ]
  return machineReport(mail, stamp, {
    reportType: 'delivery-status',
    from: `Mail Delivery System <MAILER-DAEMON@${RELAY}>`,
    subject: texts.subject,
    text: `Este é o servidor de e-mail ${RELAY}.\n\n${texts.text}\n\n<${envelope.to}>: ${facts.diagnostic}`,
    machine: [...message, '', ...recipient],
    original,
  })
}

/** RFC 8098: the recipient's mail program reports that the mail was displayed. */
export function dispositionReport(mail: Mail, stamp: Stamp): Mailing {
  return machineReport(mail, stamp, {
    reportType: 'disposition-notification',
    to: receiptAddress(mail) ?? mail.envelope.from,
    from: `<${mail.to}>`,
    subject: `Lida: ${mail.subject}`,
    text: `A mensagem enviada para <${mail.to}> foi exibida. Isso não garante que tenha sido lida ou compreendida.`,
    machine: [
      `Reporting-UA: mail.${FATE_DOMAIN}; Simulador`,
      ...(mail.envelope.orcpt === null ? [] : [`Original-Recipient: ${oneLine(mail.envelope.orcpt)}`]),
      `Final-Recipient: rfc822; ${mail.to}`,
      ...(mail.messageId === null ? [] : [`Original-Message-ID: ${mail.messageId}`]),
      'Disposition: manual-action/MDN-sent-manually; displayed',
    ],
    original: null,
  })
}

/** RFC 5965: the mailbox provider reports that the recipient marked the mail as spam. */
export function complaintReport(mail: Mail, stamp: Stamp): Mailing {
  return machineReport(mail, stamp, {
    reportType: 'feedback-report',
    from: `<fbl@${FATE_DOMAIN}>`,
    subject: 'Reclamação de spam',
    text: `O destinatário <${mail.to}> marcou esta mensagem como spam.`,
    machine: [
      'Feedback-Type: abuse',
      'User-Agent: Simulador/1.0',
      'Version: 1',
      `Original-Mail-From: <${mail.envelope.from}>`,
      `Original-Rcpt-To: <${mail.envelope.to}>`,
      `Arrival-Date: ${mailDate(mail.receivedAt)}`,
      `Reporting-MTA: dns; ${EXCHANGER}`,
      'Source-IP: 127.0.0.1',
    ],
    original: null,
  })
}

/** A person's reply: to Reply-To or From as mail programs do, and to the envelope sender when that address is refused. */
export function replyMail(mail: Mail, stamp: Stamp, text: string): Mailing {
  const asked = addressParser(findHeader(mail.header, 'reply-to') ?? '', { flatten: true })[0]?.address
  const to = [...new Set([asked || mail.from, mail.envelope.from].filter(address => address !== ''))]
  return personalMail(mail, stamp, {
    from: mail.to,
    to,
    subject: `Re: ${mail.subject.replace(/^(re:\s*)+/i, '')}`,
    text,
    extra: [],
  })
}

/** RFC 3834: an automatic reply goes to the envelope sender, with an empty sender of its own. */
export function awayMail(mail: Mail, stamp: Stamp): Mailing {
  return personalMail(mail, stamp, {
    from: '',
    to: [mail.envelope.from],
    subject: `Resposta automática: ${mail.subject}`,
    text: 'Estou de férias e volto em duas semanas. Sua mensagem será lida na volta.',
    extra: ['Auto-Submitted: auto-replied', 'Precedence: bulk'],
  })
}

interface MachineReport {
  reportType: 'delivery-status' | 'disposition-notification' | 'feedback-report'
  /** The envelope sender, if absent. */
  to?: string
  from: string
  subject: string
  text: string
  machine: string[]
  /** The whole mail, or null for its headers alone. */
  original: string | null
}

/** RFC 6522: a text for people, fields for programs, and the reported mail. */
function machineReport(mail: Mail, stamp: Stamp, report: MachineReport): Mailing {
  const boundary = `=_${stamp.id}`
  const { to = mail.envelope.from } = report
  const part = (type: string, ...body: string[]): string[] => [`--${boundary}`, `Content-Type: ${type}`, ...body]
  const lines = [
    `From: ${report.from}`,
    `To: <${to}>`,
    `Subject: ${encodeWords(report.subject)}`,
    `Date: ${mailDate(stamp.at)}`,
    `Message-ID: <${stamp.id}@${RELAY}>`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${report.reportType};`,
    ` boundary="${boundary}"`,
    '',
    'This is a MIME-encapsulated message.',
    '',
    ...part('text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit', '', ...report.text.split('\n'), ''),
    ...part(`message/${report.reportType}`, '', ...report.machine, ''),
    ...(report.original === null
      ? part('text/rfc822-headers; charset=utf-8', 'Content-Transfer-Encoding: 8bit', '', mail.header, '')
      : part('message/rfc822', 'Content-Transfer-Encoding: 8bit', '', report.original, '')),
    `--${boundary}--`,
    '',
  ]
  return { from: '', to: [to], raw: lines.join('\r\n') }
}

interface PersonalMail {
  from: string
  to: string[]
  subject: string
  text: string
  extra: string[]
}

function personalMail(mail: Mail, stamp: Stamp, { from, to, subject, text, extra }: PersonalMail): Mailing {
  const thread = [findHeader(mail.header, 'references'), mail.messageId].filter(ids => ids !== null).join(' ')
  const lines = [
    `From: <${mail.to}>`,
    `To: <${to[0] ?? ''}>`,
    `Subject: ${encodeWords(subject)}`,
    `Date: ${mailDate(stamp.at)}`,
    `Message-ID: <${stamp.id}@${FATE_DOMAIN}>`,
    ...(mail.messageId === null ? [] : [`In-Reply-To: ${mail.messageId}`, `References: ${thread}`]),
    ...extra,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    ...(Buffer.from(text)
      .toString('base64')
      .match(/.{1,76}/g) ?? []),
    '',
  ]
  return { from, to, raw: lines.join('\r\n') }
}

/** As in RFC 5322: Fri, 18 Jul 2026 04:01:32 +0000 */
const mailDate = (date: Date): string => date.toUTCString().replace('GMT', '+0000')

const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f]+/g, ' ')

/** RFC 2047: at most 45 bytes per word, so that no line has more than 76 characters. */
function encodeWords(text: string): string {
  const line = oneLine(text)
  if (/^[\x20-\x7e]{0,200}$/.test(line) && !line.includes('=?')) return line
  const words: string[] = []
  let word = ''
  for (const character of line) {
    if (Buffer.byteLength(word + character) > 45) {
      words.push(word)
      word = ''
    }
    word += character
  }
  return [...words, word].map(part => `=?utf-8?B?${Buffer.from(part).toString('base64')}?=`).join('\r\n ')
}
