import type { Clock } from '../src/domain/clock.js'
import { newId } from '../src/domain/id.js'

/** The members that every channel's messages share. The raw bytes are kept apart, because reports may outlive them. */
export interface Message {
  id: string
  channel: string
  receivedAt: Date
  to: string
  from: string
  fromName: string
  /** One line for lists; the text itself when the channel has no subjects. */
  subject: string
  /** The sender's reference. Two messages with the same reference are duplicates. */
  reference: string | null
  /** The idEmail that the sender's reference tells; null: it tells none. */
  notification: string | null
  /** The answer that the sender got; null when the sender got none. */
  answer: string | null
  reports: Report[]
}

/** Something that the recipient or the carrier does about a message and that is shown to people. */
export interface Report {
  id: string
  /** Each channel has its own types, with a label for each. */
  type: string
  /** The carrier's status code, if its reports have one. */
  status: string | null
  state: 'waiting' | 'done' | 'refused' | 'expired'
  at: Date
  doneAt: Date | null
  /** The answer that the report got, or the reason why it was not done. */
  detail: string | null
}

/** Identity of a report: the same stamp gives the same bytes, so that receivers can recognise a duplicate. */
export interface Stamp {
  id: string
  at: Date
}

/** References start with the notification's id; a Message-ID has a bracket before it. */
export const notificationIn = (reference: string | null): string | null =>
  /^<?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\./i.exec(reference ?? '')?.[1]?.toLowerCase() ?? null

const MAX_REPORTS = 200

export const newStamp = (clock: Clock, delayMs = 0): Stamp => ({ id: newId(clock()), at: new Date(clock() + delayMs) })

export function addReport(message: Message, { id, at }: Stamp, type: string, status: string | null = null): Report {
  const report: Report = { id, type, status, state: 'waiting', at, doneAt: null, detail: null }
  if (message.reports.length >= MAX_REPORTS) message.reports.shift()
  message.reports.push(report)
  return report
}

export const settleReport = (report: Report, state: Report['state'], detail: string, clock: Clock): Report =>
  Object.assign(report, { state, detail, doneAt: new Date(clock()) })
