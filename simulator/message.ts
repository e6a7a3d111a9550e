import type { Channel } from '../src/domain/channel.js'

/** What the messages of every channel have in common, without their bytes: small enough to outlive them while reports are under way. */
export interface Message {
  id: string
  channel: Channel
  receivedAt: Date
  to: string
  from: string
  fromName: string
  /** One line for lists; the text itself where the channel has no subjects. */
  subject: string
  /** The sender's own name for it: the same one twice is a double. */
  reference: string | null
  /** What the sender was answered; null: nothing. */
  answer: string | null
  reports: Report[]
}

/** Something that the recipient's side does about a message: waiting to be done, done, refused by the sender's side, or given up. */
export interface Report {
  id: string
  /** Each desk has its own types, and the words for them. */
  type: string
  /** The carrier's code, where its reports have one. */
  status: string | null
  state: 'waiting' | 'done' | 'refused' | 'expired'
  at: Date
  doneAt: Date | null
  /** The answer it got, or why it was not done. */
  detail: string | null
}

/** What makes a report itself: the same id and time give the same bytes, so that a repeated one is recognisable. */
export interface Stamp {
  id: string
  at: Date
}

const MAX_REPORTS = 200

/** Notes on the message what its recipient is about to do. */
export function addReport(message: Message, { id, at }: Stamp, type: string, status: string | null = null): Report {
  const report: Report = { id, type, status, state: 'waiting', at, doneAt: null, detail: null }
  if (message.reports.length >= MAX_REPORTS) message.reports.shift()
  message.reports.push(report)
  return report
}
