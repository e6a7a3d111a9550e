import type { FastifyInstance } from 'fastify'
import type { Channel } from '../src/domain/channel.js'
import type { Clock } from '../src/domain/clock.js'
import type { Html } from '../src/domain/html.js'
import type { Callbacks } from './callbacks.js'
import type { FaultSwitch } from './faults.js'
import type { Inbox, Kept } from './inbox.js'
import type { Message, Report } from './message.js'
import type { Visitor } from './visitor.js'

/** What every desk is given. */
export interface DeskParts {
  host: string
  inbox: Inbox
  callbacks: Callbacks
  visitor: Visitor
  clock: Clock
}

/**
 * One channel of the simulator: its carrier's side of the protocol, and what people and programs see of it. The inbox, the API
 * and the pages know desks alone.
 */
export interface Desk<M extends Message = Message> {
  readonly channel: Channel
  /** For people. */
  readonly name: string
  readonly faults: FaultSwitch
  readonly fates: DeskFates
  /** What a person may make the recipient do by hand. */
  readonly actions: Readonly<Record<string, DeskAction>>
  /** What people read about each type of report. */
  readonly reportWords: Readonly<Record<string, ReportWords>>
  /** What the page of a message must let the browser load beside our own files. */
  readonly shows: readonly Showing[]
  /** Where the gateway's providers reach this carrier: by channel, and a second protocol as channel-protocol. */
  carriers(simulatorUrl: string): Record<string, string>
  /** Throws Refused with the reason where a real recipient could not do it. */
  act(message: M, action: string, text?: string): Promise<Report>
  /** The channel's own members of a message in lists. */
  summarize(message: M): Record<string, unknown>
  /** The channel's own members of a message by itself. */
  detail(kept: Kept<M>): Promise<Record<string, unknown>>
  /** What lies below /simulator/messages/:id/ at that path; null: nothing. */
  file(kept: Kept<M>, path: string): Promise<DeskFile | null>
  /** The part of the message's page that the channel draws itself. */
  render(kept: Kept<M>): Promise<{ content: Html; aside: Html | null }>
  /** Routes of a carrier that speaks HTTP; parsers and error handlers added here are the desk's own. */
  addRoutes?(app: FastifyInstance): void
  close(): Promise<void>
}

export interface DeskFates {
  /** How addresses and fates go together. */
  lead: Html
  list: readonly DeskFate[]
  /** What else can be tried here. */
  more: Html | null
}

interface DeskFate {
  name: string
  /** As the sender writes it: an address, or a number. */
  address: string
  meaning: string
  does: string
  /** Proposed to whoever has sent nothing yet. */
  example: boolean
}

export interface DeskAction {
  label: string
  /** Asked for before it is done. */
  text?: { label: string; value: string }
}

export interface ReportWords {
  text: string
  tone: 'good' | 'bad' | 'warn' | 'plain'
}

/** The sender's own styles, sound, or a framed document. */
export type Showing = 'styles' | 'media' | 'frame'

export interface DeskFile {
  type: string
  bytes: Buffer
  /** Given: it is somebody else's file, to be saved and never shown in place. */
  downloadName?: string
}

export const findDesk = (desks: readonly Desk[], channel: string): Desk | undefined =>
  desks.find(desk => desk.channel === channel)

/** Of a message that is kept: only desks put messages into the inbox. */
export const deskOf = (desks: readonly Desk[], { channel }: Message): Desk => findDesk(desks, channel)!

/** All of them, or none: what opened beside one that could not is closed again. */
export async function openDesks(opening: readonly Promise<Desk>[]): Promise<Desk[]> {
  const results = await Promise.allSettled(opening)
  const open = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.find(result => result.status === 'rejected')
  if (failed === undefined) return open
  await Promise.all(open.map(desk => desk.close()))
  throw failed.reason
}
