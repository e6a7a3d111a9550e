import type { SentContent } from '../../domain/delivery/sent-content.js'

/** One call to one number. */
export interface VoiceMessage {
  reference: string
  /** E.164. */
  to: string
  script: VoiceScript
  /** How long to wait before another call if nobody answers this one; null: it is the last. */
  againMs: number | null
}

/** What is said in a call, in Brazilian Portuguese. */
export interface VoiceScript {
  /** The message, for a person who answered and, if `key` is set, pressed the key. */
  text: string
  /** Who is calling, and how to hear the message: nothing of its content. */
  greeting: string
  /** What an answering machine hears: nothing of its content. */
  neutral: string
  key: boolean
}

/** What a person who answers hears, in this order. It has no link. */
export const callContent = ({ script: { greeting, text } }: Pick<VoiceMessage, 'script'>): SentContent => ({
  type: 'text/plain; charset=utf-8',
  extension: 'txt',
  bytes: Buffer.from(`${greeting}\n\n${text}\n`),
})

/** What follows a call, for whoever learns how it ended. */
export interface CallPlan {
  /** How long to wait before another call if nobody heard this one; null: none follows. */
  againMs: number | null
  heard: boolean
}
