import { settingsOf } from '../../domain/account.js'
import { linkBase, makeLinkCode } from '../../domain/link.js'
import type { Fact } from '../../domain/transition.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel.js'
import { email, emailSettings } from './channel.js'
import type { EmailMessage } from './email-message.js'
import type { Enclosed, Footer } from './message/enclose.js'
import { findStatus, isMailboxGone } from './status-code.js'

/** Makes the message of a claimed e-mail: validated, with an envelope sender that identifies the delivery, a link and an image. */
export interface EmailParts {
  publicUrl: string
  /** Used where the account names no address of its own. */
  defaultFrom: string
  linkKey: Buffer
  /** The address that reports and answers come to, or the one that a reading receipt is asked for at. */
  returnAddress(notification: string, purpose: 'return' | 'receipt'): string
  /** null, or the code of the reason why the address cannot receive e-mail. */
  validate(address: string): Promise<string | null>
  /** For content that is too large for the claim. */
  readContent(notification: string): Promise<string | null>
  readBlobs(hashes: readonly string[]): Promise<Map<string, Uint8Array>>
  enclose(content: string, footer: Footer): Enclosed | Promise<Enclosed>
}

export function createEmailPreparation(parts: EmailParts) {
  return async (claim: Claim): Promise<EmailMessage | Refused> => {
    const address = claim.recipient!
    const problem = claim.suppressed ? 'suppressed' : await parts.validate(address)
    if (problem !== null) return { refused: { failure: 'validation', failureDetail: problem } }
    const settings = settingsOf(emailSettings, claim.settings)
    const code = makeLinkCode(parts.linkKey, claim.notification, email.linkCode)
    const base = linkBase(claim.settings, parts.publicUrl)
    const content = claim.protected ? PROTECTED_NOTICE : (claim.content ?? (await parts.readContent(claim.notification)))
    if (content === null) throw new Error('the content of the notification is gone')
    const { html, text } = await parts.enclose(content, { link: `${base}/n/${code}`, image: `${base}/o/${code}.gif` })
    const files = claim.protected ? [] : claim.attachments
    const bytes = files.length === 0 ? null : await parts.readBlobs(files.map(({ sha256 }) => sha256))
    const envelopeFrom = parts.returnAddress(claim.notification, 'return')
    return {
      reference: claim.reference,
      envelopeFrom,
      // Mail programs quote the whole message in an answer: at the sender's own address the recipient's link would arrive with it.
      replyTo: envelopeFrom,
      // To an address that only this request names: the receipt comes back as a fact, and it was asked for.
      ...(settings['email.receipt'] ? { receiptTo: parts.returnAddress(claim.notification, 'receipt') } : {}),
      to: address,
      toName: claim.recipientName,
      from: settings['email.from'] || parts.defaultFrom,
      fromName: settings['email.name'] || claim.accountName,
      subject: claim.subject,
      html,
      text,
      attachments: files.map(({ name, sha256 }) => ({ name, bytes: bytes!.get(sha256)! })),
      // The moment of acceptance: a message that is sent again is the same message.
      date: claim.acceptedAt,
    }
  }
}

/** Whether the server that was asked refused the recipient because there is no such mailbox. */
export const saysMailboxIsGone = ({ type, data }: Fact): boolean =>
  (type === 'failed' || type === 'uncertain') &&
  data.failure === 'rejected' &&
  data.dead !== true &&
  isMailboxGone(findStatus(data.answer ?? ''))

/** While it is sent a file is held as it is and once more in base64, content as text and once more quoted (up to three times its size). */
const HELD_OF_FILES = 2.5
const HELD_OF_CONTENT = 5
/** Not worth counting: as many as there are places weigh less than one large one. */
const NEGLIGIBLE = 262_144

/** The bytes that an e-mail holds until it is sent. */
export function weighEmail({ protected: isProtected, contentSize, attachments }: Claim): number {
  if (isProtected) return 0
  const files = attachments.reduce((sum, { size }) => sum + size, 0)
  const bytes = contentSize * HELD_OF_CONTENT + files * HELD_OF_FILES
  return bytes <= NEGLIGIBLE ? 0 : bytes
}

const PROTECTED_NOTICE =
  '<p>Há uma notificação para você, protegida por uma pergunta. Abra o link abaixo e responda para ler o conteúdo.</p>'
