import type { Message } from '../message.js'

/** One call as the carrier took it, and how it went. */
export interface Call extends Message {
  channel: 'voice'
  /** The carrier's name for it. */
  sid: string
  status: CallStatus
  order: CallOrder
  answeredBy: 'human' | 'machine_start' | 'machine_end_beep' | 'fax' | 'unknown' | null
  /** What was said to whoever answered, in order. */
  said: Said[]
  durationSeconds: number | null
  recorded: boolean
  /** Numbers the callbacks of the call. */
  sequence: number
  /** What of a call cannot be done twice: it was answered, or it ended. */
  settled: boolean
}

export type CallStatus = 'queued' | 'ringing' | 'in-progress' | 'completed' | 'busy' | 'no-answer' | 'failed'

export interface Said {
  who: 'carrier' | 'person'
  text: string
}

/** What the sender asked for. */
export interface CallOrder {
  twiml: string | null
  url: string | null
  fallbackUrl: string | null
  statusCallback: string | null
  statusEvents: readonly string[]
  record: boolean
  recordingCallback: string | null
  machineDetection: 'Enable' | 'DetectMessageEnd' | null
}

const ACCOUNT_PREFIX = { call: 'CA', recording: 'RE' }

export const callSid = (id: string): string => ACCOUNT_PREFIX.call + id.replaceAll('-', '')
export const recordingSid = ({ id }: Call): string => ACCOUNT_PREFIX.recording + id.replaceAll('-', '')

/** The message behind a name that we gave; null: it is none of ours. */
export function idOfSid(sid: string): string | null {
  const [, hex] = /^(?:CA|RE)([0-9a-f]{32})$/.exec(sid) ?? []
  return hex === undefined ? null : hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
