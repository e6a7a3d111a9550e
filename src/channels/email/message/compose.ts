import { detectMimeType } from 'nodemailer/lib/mime-funcs'
import type { StoredFile } from '../../../domain/delivery/sent-content.js'
import { base64Lines, base64LinesLength } from '../../../domain/text/base64-lines.js'
import { BlockWriter } from '../../../runtime/byte-block.js'
import { SendError } from '../../provider.js'
import type { EmailMessage, WrittenEmail } from '../email-message.js'
import { type EncodedBodies, encloseContent, encodeEnclosed } from './enclose.js'
import { header, headerText, mailbox, parameter, writeQuotedPrintable } from './mime.js'

/**
 * Writes an e-mail as RFC 5322 bytes; every attempt yields the same bytes. Our own composer takes 0.08 ms of processor time per
 * message, where nodemailer's takes 1.2 ms.
 */

// "=_" cannot occur in quoted-printable or base64, so no content can contain a boundary (RFC 2045 6.7).
const ALTERNATIVE = '=_carteiro_alternative'
const MIXED = '=_carteiro_mixed'

export function composeEmail(message: EmailMessage): Buffer {
  requireSafeAddresses(message)
  const writer = new BlockWriter(expectedBytes(message))
  writeEmail(writer, message)
  return writer.endPart()
}

/** About a frame and a short content. What is longer makes the block grow. */
const USUAL_BYTES = 16_384

export const expectedBytes = ({ attachments }: EmailMessage): number =>
  attachments.reduce((sum, { bytes }) => sum + base64LinesLength(bytes.length), USUAL_BYTES)

/** The caller has checked the addresses. */
export function writeEmail(writer: BlockWriter, message: EmailMessage): void {
  writer.text(headers(message))
  if (message.attachments.length === 0) writeAlternative(writer, message)
  else writeMixed(writer, message)
}

/** The e-mail with its content in our frame. */
export const writtenOf = (message: EmailMessage): WrittenEmail =>
  'content' in message ? { ...message, ...encloseContent(message.content, message.frame) } : message

export function requireSafeAddresses(message: EmailMessage): void {
  for (const address of [message.from, message.to, message.replyTo, message.receiptTo]) {
    if (address !== undefined && !isSafeAddress(address)) {
      throw new SendError('permanent', 'Um endereço da mensagem não é um endereço de e-mail válido.')
    }
  }
}

/** Whether the text is one address that needs no quoting in a header or an envelope and cannot be read as several addresses. */
export const isSafeAddress = (address: string): boolean =>
  address.length <= 320 && /^[^\s\u0000-\u001f\u007f-\u009f"(),:;<>@[\\\]]+@[A-Za-z0-9.-]+$/.test(address)

export function messageId(message: Pick<EmailMessage, 'reference' | 'from'>): string {
  const left = encodeURIComponent(message.reference).replace(/[()]/g, character => (character === '(' ? '%28' : '%29'))
  return `<${left}@${message.from.slice(message.from.lastIndexOf('@') + 1)}>`
}

function headers(message: EmailMessage): string {
  return [
    header('From', mailbox(message.fromName, message.from)),
    header('To', mailbox(message.toName, message.to)),
    message.replyTo === undefined ? '' : header('Reply-To', mailbox(message.replyToName ?? message.fromName, message.replyTo)),
    header('Subject', headerText(message.subject)),
    header('Date', message.date.toUTCString().replace('GMT', '+0000')),
    header('Message-ID', messageId(message)),
    message.receiptTo === undefined ? '' : header('Disposition-Notification-To', mailbox('', message.receiptTo)),
    // RFC 3834: mail systems do not answer such a message with absence notices.
    header('Auto-Submitted', 'auto-generated'),
    header('MIME-Version', '1.0'),
  ].join('')
}

function writeAlternative(writer: BlockWriter, message: EmailMessage): void {
  const { text, writeHtml } = bodiesOf(message)
  writer.text(BEFORE_TEXT)
  writeQuotedPrintable(writer, text)
  writer.text(BEFORE_HTML)
  writeHtml(writer)
  writer.text(AFTER_HTML)
}

function bodiesOf(message: EmailMessage): EncodedBodies {
  if ('content' in message) return encodeEnclosed(message.content, message.frame)
  return { text: message.text, writeHtml: writer => writeQuotedPrintable(writer, message.html) }
}

const bodyHeaders = (kind: 'plain' | 'html'): string =>
  `Content-Type: text/${kind}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`

const BEFORE_TEXT = `${header('Content-Type', `multipart/alternative; boundary="${ALTERNATIVE}"`)}\r\n--${ALTERNATIVE}\r\n${bodyHeaders('plain')}`
const BEFORE_HTML = `\r\n--${ALTERNATIVE}\r\n${bodyHeaders('html')}`
const AFTER_HTML = `\r\n--${ALTERNATIVE}--\r\n`

function writeMixed(writer: BlockWriter, message: EmailMessage): void {
  writer.text(`${header('Content-Type', `multipart/mixed; boundary="${MIXED}"`)}\r\n--${MIXED}\r\n`)
  writeAlternative(writer, message)
  for (const { name, bytes } of message.attachments) {
    writer.text(partHeaders(name))
    writer.bytes(base64Lines(bytes))
  }
  writer.text(END)
}

/**
 * Where the attached files are in a message of this size, which may begin with a signature: they are stored as blobs. Counted from
 * the end, because the message may have been composed in a thread.
 */
export function attachedFiles({ attachments }: EmailMessage, size: number): StoredFile[] {
  const files: StoredFile[] = []
  let end = size - END.length
  for (const { name, bytes, sha256 } of attachments.toReversed()) {
    const length = base64LinesLength(bytes.length)
    const at = end - length
    if (sha256 !== undefined && length > 0) files.unshift({ at, length, sha256, encoding: 'base64' })
    end = at - Buffer.byteLength(partHeaders(name))
  }
  return files
}

const END = `--${MIXED}--\r\n`

const partHeaders = (name: string): string => `--${MIXED}\r\n${fileHeaders(name)}`

function fileHeaders(name: string): string {
  const guessed = detectMimeType(name)
  // RFC 2046 5.2.1 forbids base64 for message and multipart types, so such files are sent as octet-stream.
  const type = /^(message|multipart)\//.test(guessed) ? 'application/octet-stream' : guessed
  return [
    header('Content-Type', `${type}; ${parameter('name', name)}`),
    header('Content-Disposition', `attachment; ${parameter('filename', name)}`),
    'Content-Transfer-Encoding: base64\r\n\r\n',
  ].join('')
}
