import type { CarrierEvent, Provider, SendErrorKind } from '../../src/channels/provider.js'
import type { Channel } from '../../src/domain/channel.js'
import type { Pool } from '../../src/store/postgres.js'

/** How the carrier at the other end treats the messages that reach it. */
export type Behaviour =
  | 'accept'
  | 'refuse for good'
  | 'refuse for a while'
  | 'throttle'
  /** Takes the message and never answers. */
  | 'stay silent'
  /** Takes the message and breaks the connection instead of answering. */
  | 'reset'
  /** Reads the message, keeps nothing of it, and breaks the connection. */
  | 'drop'
  /** Takes the message and answers with something that means nothing. */
  | 'answer garbage'
  /** Takes the message, and a proxy before the carrier answers 503 and 408 in turn, with a page of its own. */
  | 'answer by a proxy'

/** Treats the first message by one behaviour, and all others by another. */
export class Plan {
  #now: Behaviour = 'accept'
  #then: Behaviour = 'accept'

  readonly behave = (behaviour: Behaviour, then = behaviour): void => {
    this.#now = behaviour
    this.#then = then
  }

  get now(): Behaviour {
    return this.#now
  }

  /** For the message that has just come. */
  take(): Behaviour {
    const now = this.#now
    this.#now = this.#then
    return now
  }
}

/** The carrier's side of a provider's protocol, on real sockets, for one test. */
export interface ScriptedSide<Message> {
  url: URL
  provider(parts: ProviderParts): Provider<Message>
  behave(behaviour: Behaviour, then?: Behaviour): void
  /** The messages that the carrier took, each by the name that a second copy of it bears too; '' where it bears none. */
  taken(): readonly string[]
  /** Stops listening, as a carrier that is down. */
  leave(): Promise<void>
  comeBack(): Promise<void>
  /** Connections, or processes, that the provider holds. */
  open(): number
  /** Reports the delivery of every message that was taken, as this carrier does it. */
  report?(onEvents: ProviderParts['onEvents']): Promise<void>
}

export interface ProviderParts {
  pool: Pool
  /** The identity of the carrier; the provider's name where it does not matter. */
  carrier?: string
  onEvents(events: readonly CarrierEvent[]): Promise<void>
}

/** One provider, its carrier's side, and what its protocol cannot do. */
export interface Subject<Message> {
  name: string
  channel: Channel
  /** The setting that holds the carrier's URL. */
  setting: string
  start(): Promise<ScriptedSide<Message>>
  /** What a send request has besides its content so that this channel's delivery, and no other, goes to RECIPIENT. */
  request: object
  /** To RECIPIENT every time. */
  message(reference: string): Message
  /** What must not be read anywhere: the secret of the URL, also as it travels. */
  secrets: readonly string[]
  /** URLs that no carrier can have, each with words of its refusal. */
  badUrls: readonly (readonly [url: string, says: string])[]
  /** Whether the carrier gives the messages that it takes names of its own. */
  givesNames: boolean
  /** What garbage for an answer leaves behind, where it is not an unknown outcome. */
  garbageIs?: SendErrorKind
  /** How many messages are sent at a time; a hundred unless given. */
  atOnce?: number
  /** Statements that cannot apply to this protocol, each with the reason. */
  cannot: Partial<Record<Inapplicable, string>>
}

/** What a protocol may not be able to do. */
export type Inapplicable =
  | 'refuse for good'
  | 'throttle'
  | 'say how long to wait'
  | 'carry our reference'
  | 'hold a password'
  | 'stand behind a proxy'

/** Every subject's messages go to the same person, and so do the deliveries that the engine sends by them. */
export const RECIPIENT = { number: '+5511987654321', email: 'maria@example.net' }

/** The wait that a throttling carrier asks for. */
export const WAIT_SECONDS = 7
