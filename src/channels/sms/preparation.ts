import { settingsOf } from '../../domain/account.js'
import { type LinkTarget, linkBase } from '../../domain/link.js'
import { planParts } from '../../domain/message-parts.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel.js'
import { refusedFor } from '../rendering.js'
import { smsSettings } from './channel.js'
import { type AccentRule, fitSms } from './fit-text.js'
import type { SmsMessage } from './sms-message.js'

/** From a claimed SMS to the message that leaves: the sender's words, or ours, with the short link where it belongs. */
export interface SmsParts {
  publicUrl: string
  shortLink(target: LinkTarget): Promise<string>
}

const PLACEHOLDER = '{SHORT_LINK}'
const SUPPRESSED = 'O destinatário pediu para não receber mais SMS desta conta.'
/** A sender's name longer than this leaves no room for what is to be said. */
const MAX_SENDER = 30
const LEAST_SUBJECT = 12

export function createSmsPreparation({ publicUrl, shortLink }: SmsParts) {
  return async (claim: Claim): Promise<SmsMessage | Refused> => {
    if (claim.suppressed) return refusedFor(SUPPRESSED)
    const { notification, channel, reference, settings } = claim
    const custom = claim.request.customMessage
    const linked = typeof custom !== 'string' || custom.includes(PLACEHOLDER)
    const link = linked ? `${linkBase(settings, publicUrl)}/s/${await shortLink({ notification, channel })}` : ''
    const accents = settingsOf(smsSettings, settings)['sms.accents']
    const text =
      typeof custom === 'string'
        ? fitSms(custom.replaceAll(PLACEHOLDER, link), accents)
        : ownText(settings['brand.name'] || claim.accountName, claim.subject, link, accents)
    return { reference, to: claim.recipient!, text, ...(claim.taken ? { taken: claim.taken } : {}) }
  }
}

/** Sender, subject, link, in one part where they fit: the subject gives way first, then all of it. */
function ownText(sender: string, subject: string, link: string, accents: AccentRule): string {
  const who = cut(sender, MAX_SENDER)
  const say = (words: string): string => fitSms(`${who}: ${words} ${link}`, accents)
  const characters = [...subject]
  if (planParts(say(subject)).parts.length === 1) return say(subject)
  for (let length = Math.min(characters.length, 160); length >= LEAST_SUBJECT; length--) {
    const text = say(cut(subject, length))
    if (planParts(text).parts.length === 1) return text
  }
  return say('há uma notificação para você.')
}

const cut = (text: string, length: number): string => {
  const characters = [...text]
  return characters.length <= length
    ? text
    : `${characters
        .slice(0, length - 3)
        .join('')
        .trimEnd()}...`
}
