import type { Message } from '../message.js'

export interface Call extends Message {
  channel: 'voice'
  /** The carrier's id of the call. */
  sid: string
  status: CallStatus
  order: CallOrder
  answeredBy: 'human' | 'machine_start' | 'machine_end_beep' | 'fax' | 'unknown' | null
  said: Utterance[]
  /** The errors that the carrier logged while it asked the sender for documents. */
  errors: FetchError[]
  durationSeconds: number | null
  recorded: boolean
  /** The SequenceNumber of the next callback. */
  sequence: number
  /** The telephone has started to react, so that a person can no longer choose a reaction. */
  started: boolean
}

export type CallStatus = 'queued' | 'ringing' | 'in-progress' | 'completed' | 'busy' | 'no-answer' | 'failed'

export interface Utterance {
  who: 'carrier' | 'person'
  text: string
}

export interface FetchError {
  /** Twilio's: 11200 no or a bad answer, 12100 the answer is not TwiML. */
  code: '11200' | '12100'
  url: string
  at: Date
}

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

export const callSid = (id: string): string => `CA${id.replaceAll('-', '')}`
export const recordingSid = ({ id }: Call): string => `RE${id.replaceAll('-', '')}`

/** The id of the message with that call or recording id, or null. */
export function idOfSid(sid: string): string | null {
  const [, hex] = /^(?:CA|RE)([0-9a-f]{32})$/.exec(sid) ?? []
  return hex === undefined ? null : hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
