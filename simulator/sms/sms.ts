import type { Message } from '../message.js'

/** One text as it reached one phone, put together from its parts. */
export interface Sms extends Message {
  channel: 'sms'
  via: 'smpp' | 'zenvia'
  text: string
  encoding: 'gsm7' | 'ucs2'
  parts: readonly SmsPart[]
}

/** What the carrier calls a part, and the sender's own mark on it (user_message_reference). */
export interface SmsPart {
  id: string
  mark: number | null
}

/** The first link in the text. */
export const linkIn = ({ text }: Sms): string | null => /https?:\/\/[^\s]+/.exec(text)?.[0].replace(/[.,;)]+$/, '') ?? null
