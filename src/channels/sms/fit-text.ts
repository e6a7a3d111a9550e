import { planParts } from '../../domain/delivery/message-parts.js'
import { plainForm } from '../../domain/text/gsm7.js'

export const accentRules = ['keep', 'transliterate'] as const
export type AccentRule = (typeof accentRules)[number]

/** The text as it leaves: accents go only where the account allows it and it saves parts, and only all of them. */
export function fitSms(text: string, accents: AccentRule): string {
  const composed = text.normalize('NFC')
  if (accents === 'keep') return composed
  const forms = [...composed].map(plainForm)
  if (forms.some(form => form === null)) return composed
  const plain = forms.join('')
  return planParts(plain).parts.length < planParts(composed).parts.length ? plain : composed
}
