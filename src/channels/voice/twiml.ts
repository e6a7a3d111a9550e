import type { VoiceScript } from '../provider.js'

/** What a Twilio-compatible carrier does in a call, in its own language (TwiML). */
export interface Speech {
  /** The carrier's name for a voice; null: its own choice for Brazilian Portuguese. */
  voice: string | null
}

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
/** How long a person may look for the key. */
const KEY_SECONDS = 8
/** Asked twice: the first time is easily missed. */
const ASKED = 2

/** The greeting; whoever is still there after it is led to `next`, where the message is. */
export const greetingDocument = ({ greeting }: VoiceScript, next: string, speech: Speech): string =>
  document(`${say(greeting, speech)}<Pause length="1"/><Redirect method="POST">${escapeXml(next)}</Redirect>`)

/** The message itself, for somebody who has heard the greeting, and pressed the key where one was asked for. */
export const textDocument = ({ text }: VoiceScript, speech: Speech): string => document(`${say(text, speech)}<Hangup/>`)

/** Asks for a key, and tells `action` which one was pressed. */
export function keyDocument({ greeting }: VoiceScript, action: string, speech: Speech): string {
  const ask = `<Gather input="dtmf" numDigits="1" timeout="${KEY_SECONDS}" method="POST" action="${escapeXml(action)}">${say(greeting, speech)}</Gather>`
  return document(`${ask.repeat(ASKED)}<Hangup/>`)
}

export const machineDocument = ({ neutral }: VoiceScript, speech: Speech): string =>
  document(`<Pause length="1"/>${say(neutral, speech)}<Hangup/>`)

export const HANGUP = `${HEAD}<Response><Hangup/></Response>`

const document = (verbs: string): string => `${HEAD}<Response>${verbs}</Response>`

/** A blank line in the text is a pause in the speech. */
const say = (text: string, { voice }: Speech): string =>
  text
    .split(/\n\s*\n/)
    .map(
      paragraph => `<Say language="pt-BR"${voice === null ? '' : ` voice="${escapeXml(voice)}"`}>${escapeXml(paragraph)}</Say>`,
    )
    .join('<Pause length="1"/>')

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** XML 1.0 has no place for most control characters, not even escaped. */
const escapeXml = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ').replace(/[&<>"']/g, character => ESCAPES[character]!)
