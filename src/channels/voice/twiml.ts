import type { VoiceScript } from './voice-message.js'

/** The carrier's name of a voice; null: the carrier's default for Brazilian Portuguese. */
type Voice = string | null

/** TwiML is the language that tells a Twilio-compatible carrier what to do in a call. */
const document = (verbs: string): string => `<?xml version="1.0" encoding="UTF-8"?><Response>${verbs}</Response>`
/** How long the call waits for the key. */
const KEY_SECONDS = 8
/** The prompt is played twice, because people easily miss the first one. */
const PROMPT_COUNT = 2

/** The greeting, followed by a redirect to `next` for the message. Only a person who has heard the greeting gets there. */
export const greetingDocument = ({ greeting }: VoiceScript, next: string, voice: Voice): string =>
  document(`${say(greeting, voice)}<Pause length="1"/><Redirect method="POST">${escapeXml(next)}</Redirect>`)

/** The message, for a person who has heard the greeting and has pressed the key, if one is required. */
export const textDocument = ({ text }: VoiceScript, voice: Voice): string => document(`${say(text, voice)}<Hangup/>`)

/** Asks for a key and posts the pressed key to `action`. */
export function keyDocument({ greeting }: VoiceScript, action: string, voice: Voice): string {
  const ask = `<Gather input="dtmf" numDigits="1" timeout="${KEY_SECONDS}" method="POST" action="${escapeXml(action)}">${say(greeting, voice)}</Gather>`
  return document(`${ask.repeat(PROMPT_COUNT)}<Hangup/>`)
}

export const machineDocument = ({ neutral }: VoiceScript, voice: Voice): string =>
  document(`<Pause length="1"/>${say(neutral, voice)}<Hangup/>`)

export const HANGUP = document('<Hangup/>')

/** A blank line in the text becomes a pause. */
function say(text: string, voice: Voice): string {
  const named = voice === null ? '' : ` voice="${escapeXml(voice)}"`
  const paragraphs = text.split(/\n\s*\n/).map(paragraph => `<Say language="pt-BR"${named}>${escapeXml(paragraph)}</Say>`)
  return paragraphs.join('<Pause length="1"/>')
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** XML 1.0 does not allow most control characters, not even escaped. */
const escapeXml = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ').replace(/[&<>"']/g, character => ESCAPES[character]!)
