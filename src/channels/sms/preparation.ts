import { settingsOf } from '../../domain/account.js'
import { planParts } from '../../domain/delivery/message-parts.js'
import type { JsonObject } from '../../domain/notification.js'
import { LINK_PLACEHOLDER, type LinkTarget, linkBase, linkStandsAlone } from '../../domain/recipient/link.js'
import { brandName } from '../../domain/send/sender.js'
import { countCharacters } from '../../domain/text/text.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel-runtime.js'
import { LINK_NOT_ALONE, type Rendering, refusedFor } from '../rendering.js'
import { smsSettings } from './channel.js'
import { type AccentRule, fitSms } from './fit-text.js'
import type { SmsMessage } from './sms-message.js'

interface SmsParts {
  publicUrl: string
  shortLink(target: LinkTarget): Promise<string>
  render: Rendering
}

/** Six parts of an SMS in GSM-7. */
const MAX_TEMPLATE_TEXT = 918
/** A longer name leaves no room for the subject. */
const MAX_SENDER = 30
const LEAST_SUBJECT = 12
/** More than one part can ever hold. A subject may have millions of characters. */
const MOST_READ = 1_000

/** Makes the message of a claimed SMS: the sender's text, or ours, with the short link. */
export function createSmsPreparation({ publicUrl, shortLink, render }: SmsParts) {
  return async (claim: Claim): Promise<SmsMessage | Refused> => {
    if (claim.suppressed) return refusedFor('O destinatário pediu para não receber mais SMS desta conta.')
    const { notification, channel, reference, settings } = claim
    const rendered = claim.request.template === undefined ? null : await fillTemplate(claim, render)
    if (rendered !== null && 'refused' in rendered) return rendered
    const custom = rendered?.text ?? claim.request.customMessage
    const linked = typeof custom !== 'string' || custom.includes(LINK_PLACEHOLDER)
    const code = linked ? await shortLink({ notification, channel }) : null
    const link = code === null ? '' : `${linkBase(settings, publicUrl)}/s/${code}`
    const accents = settingsOf(smsSettings, settings)['sms.accents']
    const text =
      typeof custom === 'string'
        ? fitSms(
            custom.replaceAll(LINK_PLACEHOLDER, () => link),
            accents,
          )
        : ownText(brandName(settings, claim.accountName), claim.subject, link, accents)
    const repeated = claim.unknownCount > 0
    const secrets = code === null ? [] : [code]
    return { reference, to: claim.recipient!, text, repeated, secrets, ...(claim.taken ? { taken: claim.taken } : {}) }
  }
}

async function fillTemplate(claim: Claim, render: Rendering): Promise<{ text: string } | Refused> {
  const rendered = await render(claim, claim.request.variables as JsonObject)
  if ('refused' in rendered) return rendered
  const text = rendered.text.trim()
  if (text === '') return refusedFor('O template ficou vazio depois de preenchido: não há o que enviar por SMS.')
  const length = countCharacters(text)
  if (length > MAX_TEMPLATE_TEXT)
    return refusedFor(
      `O texto do SMS tem ${length} caracteres; o máximo são ${MAX_TEMPLATE_TEXT}. Reduza o template ou os valores em sms.variables.`,
    )
  return linkStandsAlone(text) ? { text } : refusedFor(LINK_NOT_ALONE)
}

/** Sender, subject and link in one part: the subject is shortened to fit, or else replaced. */
function ownText(sender: string, given: string, link: string, accents: AccentRule): string {
  const subject = given.slice(0, MOST_READ)
  const compose = (words: string): string => fitSms(`${cut(sender, MAX_SENDER)}: ${words} ${link}`, accents)
  if (planParts(compose(subject)).parts.length === 1) return compose(subject)
  for (let length = Math.min([...subject].length, 160); length >= LEAST_SUBJECT; length--) {
    const text = compose(cut(subject, length))
    if (planParts(text).parts.length === 1) return text
  }
  return compose('há uma notificação para você.')
}

function cut(text: string, length: number): string {
  const characters = [...text]
  if (characters.length <= length) return text
  const kept = characters.slice(0, length - 3).join('')
  return `${kept.trimEnd()}...`
}
