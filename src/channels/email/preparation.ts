import { settingsOf } from '../../domain/account.js'
import type { Fact } from '../../domain/delivery/transition.js'
import type { JsonObject } from '../../domain/notification.js'
import { LINK_PLACEHOLDER, linkBase, linkStandsAlone, makeLinkCode } from '../../domain/recipient/link.js'
import { brandColor, brandName, senderDetails } from '../../domain/send/sender.js'
import { cutText } from '../../domain/text/text.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel-runtime.js'
import { LINK_NOT_ALONE, type Rendering, refusedFor } from '../rendering.js'
import { email, emailSettings } from './channel.js'
import type { EmailMessage, Unenclosed } from './email-message.js'
import type { ShownLogo } from './logos.js'
import { type Enclosed, encloseNotice } from './message/enclose.js'
import type { Frame } from './message/frame.js'
import { findStatus, isMailboxGone } from './status-code.js'

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
  render: Rendering
  readBlobs(hashes: readonly string[]): Promise<Map<string, Uint8Array>>
  /** The logo of the account, if mail programs can show it. */
  findLogo(account: string): Promise<ShownLogo | null>
}

/** Makes the message of a claimed e-mail: validated, with an envelope sender that identifies the delivery, a link and an image. */
export function createEmailPreparation(parts: EmailParts) {
  return async (claim: Claim): Promise<EmailMessage | Refused> => {
    const address = claim.recipient!
    const problem = claim.suppressed ? 'suppressed' : await parts.validate(address)
    if (problem !== null) return { refused: { failure: 'validation', failureDetail: problem } }
    const settings = settingsOf(emailSettings, claim.settings)
    const code = makeLinkCode(parts.linkKey, claim.notification, email.linkCode)
    const base = linkBase(claim.settings, parts.publicUrl)
    const link = `${base}/n/${code}`
    const content = claim.protected ? null : await writeContent(parts, claim, link)
    if (content !== null && typeof content === 'object') return content
    const frame = makeFrame(claim, await parts.findLogo(claim.account), { base, link, image: `${base}/o/${code}.gif` })
    const text: Enclosed | Unenclosed = content === null ? encloseNotice(frame) : { content, frame }
    const files = claim.protected ? [] : claim.attachments
    const bytes = files.length === 0 ? null : await parts.readBlobs(files.map(({ sha256 }) => sha256))
    const envelopeFrom = parts.returnAddress(claim.notification, 'return')
    const receiptTo = settings['email.receipt'] ? parts.returnAddress(claim.notification, 'receipt') : null
    return {
      reference: claim.reference,
      envelopeFrom,
      // Mail programs quote the whole message in an answer: at the sender's own address the recipient's link would arrive with it.
      replyTo: envelopeFrom,
      // Whoever knows the addresses could answer, or confirm the reading, in the recipient's name.
      secrets: [code, ...[envelopeFrom, receiptTo].flatMap(own => (own === null ? [] : [secretOf(own)]))],
      to: address,
      toName: claim.recipientName,
      from: settings['email.from'] || parts.defaultFrom,
      fromName: settings['email.name'] || brandName(claim.settings, claim.accountName),
      subject: claim.subject,
      attachments: files.map(({ name, sha256 }) => ({ name, sha256, bytes: bytes!.get(sha256)! })),
      // The moment of acceptance: a message that is sent again is the same message.
      date: claim.acceptedAt,
      ...text,
      // To an address that only this request names: the receipt comes back as a fact, and it was asked for.
      ...(receiptTo === null ? {} : { receiptTo }),
    }
  }
}

/** The part of an address of ours that cannot be guessed: verp.ts. */
const secretOf = (address: string): string => address.slice(address.indexOf('.') + 1, address.lastIndexOf('@'))

/** More than any program shows. A subject may have millions of characters, and the frame may go to a thread. */
const LONGEST_SUBJECT = 1_000

export function makeFrame(
  claim: Pick<Claim, 'accountName' | 'settings' | 'subject' | 'recipientName'>,
  logo: ShownLogo | null,
  { base, link, image }: Record<'base' | 'link' | 'image', string>,
): Frame {
  const { settings } = claim
  return {
    sender: {
      name: brandName(settings, claim.accountName),
      color: brandColor(settings),
      logo: logo === null ? null : { url: `${base}${logo.path}`, width: logo.width, height: logo.height },
      details: senderDetails(settings),
    },
    subject: cutText(claim.subject, LONGEST_SUBJECT),
    recipientName: cutText(claim.recipientName, LONGEST_SUBJECT),
    link,
    image,
  }
}

/** The content of the notification, or the template that the request names in its place. */
async function writeContent({ render, readContent }: EmailParts, claim: Claim, link: string): Promise<string | Refused> {
  if (claim.request.template !== undefined) {
    const rendered = await render(claim, claim.request.variables as JsonObject)
    if ('refused' in rendered) return rendered
    if (!linkStandsAlone(rendered.text)) return refusedFor(LINK_NOT_ALONE)
    return rendered.text.replaceAll(LINK_PLACEHOLDER, () => link)
  }
  const content = claim.content ?? (await readContent(claim.notification))
  if (content === null) throw new Error('the content of the notification is gone')
  return content
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
