import type { Message } from '../message.js'

/** One text to one phone, joined from its parts. */
export interface Sms extends Message {
  channel: 'sms'
  via: 'smpp' | 'zenvia'
  text: string
  encoding: 'gsm7' | 'ucs2'
  parts: readonly SmsPart[]
  /** Whether the sender asked to be told of what happens before the end, such as a phone that is switched off. */
  intermediate: boolean
}

export interface SmsPart {
  /** The carrier's id. */
  id: string
  /** The sender's user_message_reference. */
  mark: number | null
}

/** The first link in the text. */
export const linkIn = ({ text }: Sms): string | null => /https?:\/\/[^\s]+/.exec(text)?.[0].replace(/[.,;)]+$/, '') ?? null
