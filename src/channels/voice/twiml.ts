import type { VoiceScript } from './voice-message.js'

/** Documents in TwiML, the language in which a Twilio-compatible carrier is told what to do in a call. */
export interface Speech {
  /** The carrier's name of a voice; null: the carrier's default for Brazilian Portuguese. */
  voice: string | null
}

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
/** How long the call waits for the key. */
const KEY_SECONDS = 8
/** The prompt is played twice, because people easily miss the first one. */
const PROMPT_COUNT = 2

/** The greeting, followed by a redirect to `next` for the message. Only a person who has heard the greeting gets there. */
export const greetingDocument = ({ greeting }: VoiceScript, next: string, speech: Speech): string =>
  document(`${say(greeting, speech)}<Pause length="1"/><Redirect method="POST">${escapeXml(next)}</Redirect>`)

/** The message, for a person who has heard the greeting and has pressed the key, if one is required. */
export const textDocument = ({ text }: VoiceScript, speech: Speech): string => document(`${say(text, speech)}<Hangup/>`)

/** Asks for a key and posts the pressed key to `action`. */
export function keyDocument({ greeting }: VoiceScript, action: string, speech: Speech): string {
  const ask = `<Gather input="dtmf" numDigits="1" timeout="${KEY_SECONDS}" method="POST" action="${escapeXml(action)}">${say(greeting, speech)}</Gather>`
  return document(`${ask.repeat(PROMPT_COUNT)}<Hangup/>`)
}

export const machineDocument = ({ neutral }: VoiceScript, speech: Speech): string =>
  document(`<Pause length="1"/>${say(neutral, speech)}<Hangup/>`)

export const HANGUP = `${HEAD}<Response><Hangup/></Response>`

const document = (verbs: string): string => `${HEAD}<Response>${verbs}</Response>`

/** A blank line in the text becomes a pause. */
const say = (text: string, { voice }: Speech): string =>
  text
    .split(/\n\s*\n/)
    .map(
      paragraph => `<Say language="pt-BR"${voice === null ? '' : ` voice="${escapeXml(voice)}"`}>${escapeXml(paragraph)}</Say>`,
    )
    .join('<Pause length="1"/>')

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** XML 1.0 does not allow most control characters, not even escaped. */
const escapeXml = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ').replace(/[&<>"']/g, character => ESCAPES[character]!)
