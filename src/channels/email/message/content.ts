import type { SentContent } from '../../../domain/delivery/sent-content.js'
import type { EmailMessage } from '../email-message.js'
import { attachedFiles } from './compose.js'

/** An e-mail as its server got it, with its signature. */
export const emailContent = (message: EmailMessage, raw: Buffer): SentContent => ({
  type: 'message/rfc822',
  extension: 'eml',
  bytes: raw,
  files: attachedFiles(message, raw.length),
  secrets: message.secrets ?? [],
  dictionary: 'frame-1',
})
