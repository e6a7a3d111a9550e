import type { FastifyInstance } from 'fastify'
import type { Clock } from '../src/domain/clock.js'
import type { Html } from '../src/domain/text/html.js'
import type { Callbacks } from './callbacks.js'
import type { FaultSwitch } from './faults.js'
import type { Inbox, StoredMessage } from './inbox.js'
import type { Message, Report } from './message.js'
import type { Visitor } from './visitor.js'

/** How the simulator opens a channel. One folder per channel, one line in registry.ts. */
export interface ChannelDeclaration {
  /** The port of a carrier that does not speak HTTP. HTTP carriers answer at the simulator's own port. */
  readonly port?: CarrierPort
  open(context: ChannelContext): Promise<SimulatedChannel>
}

export interface CarrierPort {
  /** Names the option of the command (--smtp-port) and the address that the command prints. */
  readonly name: string
  /** Help text of the option, in Portuguese. */
  readonly description: string
}

export interface ChannelContext {
  host: string
  /** The password of the carriers that speak HTTP, which only the gateway knows. */
  key: string
  /** The number for the declared port; 0 means any free port. */
  port: number
  inbox: Inbox
  callbacks: Callbacks
  visitor: Visitor
  clock: Clock
  maxMessageBytes: number
  /** How long a recipient that never answers keeps the connection open. */
  silenceMs: number
}

/** The carriers of one channel and their recipients. The inbox, the API and the pages know channels only through this contract. */
export interface SimulatedChannel<M extends Message = Message> {
  readonly channel: string
  /** Name for people, in Portuguese. */
  readonly name: string
  /** Address of the carrier at the declared port. */
  readonly url?: string
  readonly faults: FaultSwitch
  readonly fates: ChannelFates
  /** What a person can make the recipient do from the page or the API. */
  readonly actions: Readonly<Record<string, ChannelAction>>
  readonly reportLabels: Readonly<Record<string, ReportLabel>>
  /** What the content security policy of a message's page must allow beside the simulator's own files. */
  readonly allowedContent: readonly AllowedContent[]
  /** Where reports go when they do not travel as HTTP callbacks. */
  readonly reportRoutes?: ReportRoutes
  /** The carrier URLs for the gateway, by channel; a second protocol is named channel-protocol. */
  carriers(simulatorUrl: string): Record<string, string>
  /** Throws SimulatorError with the reason when a real recipient could not do it. */
  act(message: M, action: string, text?: string): Promise<Report>
  /** Its messages have a subject that names the whole notification. */
  readonly hasTitles?: true
  /** What a person should notice about the message, in a few words. */
  warn?(message: M): string | null
  /** The channel's own members of a message in a list. */
  summarize(message: M): Record<string, unknown>
  /** The channel's own members of a single message. */
  detail(stored: StoredMessage<M>): Promise<Record<string, unknown>>
  /** The file at that path below /simulator/messages/:id/, or null. */
  file(stored: StoredMessage<M>, path: string): Promise<ChannelFile | null>
  /** The channel's own part of the page of a message. */
  render(stored: StoredMessage<M>): Promise<{ content: Html; aside: Html | null }>
  /** Adds the routes of an HTTP carrier. Parsers and error handlers set on the app apply to this channel alone. */
  addRoutes?(app: FastifyInstance): void
  close(): Promise<void>
}

export interface ReportRoutes {
  /** Member of PUT /simulator/routes that names the address. */
  readonly field: string
  readonly protocol: string
  /** Newest first. */
  readonly registered: readonly string[]
  register(url: string): void
}

export interface ChannelFates {
  /** Explains how addresses select a fate. */
  lead: Html
  list: readonly ListedFate[]
  more: Html | null
}

export interface ListedFate {
  name: string
  /** As the sender writes it: an address, a number or a postcode. */
  address: string
  meaning: string
  does: string
  /** Suggested while the inbox is empty. */
  example: boolean
}

export interface ChannelAction {
  label: string
  /** The text that the page asks for before it acts. */
  text?: { label: string; value: string }
}

export interface ReportLabel {
  text: string
  tone: 'good' | 'bad' | 'warn' | 'plain'
}

export type AllowedContent = 'styles' | 'media' | 'frame'

export interface ChannelFile {
  type: string
  bytes: Buffer
  /** Set for files written by the sender: the browser saves them and never renders them in our origin. */
  downloadName?: string
}

export const listFates = <F extends Omit<ListedFate, 'address' | 'example'>>(
  fates: readonly F[],
  addressOf: (fate: F) => string,
  examples: readonly string[],
): ListedFate[] =>
  fates.map(fate => ({
    name: fate.name,
    address: addressOf(fate),
    meaning: fate.meaning,
    does: fate.does,
    example: examples.includes(fate.name),
  }))

export const findChannel = (channels: readonly SimulatedChannel[], name: string): SimulatedChannel | undefined =>
  channels.find(({ channel }) => channel === name)

/** Every stored message has a channel, because only channels add messages to the inbox. */
export const channelOf = (channels: readonly SimulatedChannel[], { channel }: Message): SimulatedChannel =>
  findChannel(channels, channel)!

/** Opens all channels or none: when one fails, the open ones are closed so that no port stays taken. */
export async function openChannels(
  declarations: readonly ChannelDeclaration[],
  context: Omit<ChannelContext, 'port'>,
  ports: Readonly<Record<string, number>>,
): Promise<SimulatedChannel[]> {
  const results = await Promise.allSettled(
    declarations.map(({ port, open }) => open({ ...context, port: port === undefined ? 0 : (ports[port.name] ?? 0) })),
  )
  const channels = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.find(result => result.status === 'rejected')
  if (failed === undefined) return channels
  await Promise.all(channels.map(channel => channel.close()))
  throw failed.reason
}
