import type { Keys } from '../domain/access/keys.js'
import type { Mode } from '../domain/access/token.js'
import type { Clock } from '../domain/clock.js'
import type { CarrierSource } from '../domain/delivery/carrier-source.js'
import type { Change, ChangeOutcome } from '../domain/delivery/change.js'
import type { Fact } from '../domain/delivery/transition.js'
import type { LinkTarget } from '../domain/recipient/link.js'
import type { Chore } from '../runtime/chores.js'
import type { Semaphore } from '../runtime/semaphore.js'
import type { Claim } from '../store/delivery/claims.js'
import type { Pool } from '../store/postgres.js'
import type { ChannelConfig } from './channel-config.js'
import type { ChannelPreview } from './preview.js'
import type { CarrierEvent } from './provider.js'
import type { TemplateRunner } from './template-runner.js'

/** A document's bytes, read in pieces so that a long recording is never in memory as a whole. */
export interface DocumentSource {
  readonly size: number
  read(from: number, length: number): Promise<Uint8Array>
}

/** What runs in the api and in the worker. */
export interface ChannelRuntime<Config extends ChannelConfig = ChannelConfig> {
  openDelivery(context: DeliveryContext<Config>): Promise<ChannelDelivery<unknown>>
  /** Makes messages as deliveries make them, and stores nothing. */
  openPreview(context: PreviewContext<Config>): ChannelPreview
  /** What the providers' readers of callbacks need. */
  callbackParts?(context: RuntimeContext<Config>): object
  /** The readers of the documents that the module declares, by name; null: there is none, expired: it was deleted. */
  documents?(context: DocumentContext<Config>): Readonly<Record<string, DocumentReader>>
  /** Checks what the outside world must know of the installation, such as DNS records. Options replace parts in tests. */
  checkSetup?(context: RuntimeContext<Config>, options: object): Promise<SetupCheck[]>
}

/** One thing that must be right outside, in Portuguese. */
export interface SetupCheck {
  /** SPF, DKIM. */
  readonly name: string
  /** The domain that it is about. */
  readonly subject: string
  /** Where the record belongs; null: there is none to publish yet. */
  readonly record: string | null
  /** unknown: nobody answered, which proves nothing. */
  readonly state: 'good' | 'warn' | 'bad' | 'unknown'
  readonly found: readonly string[]
  /** What should be published; null: nothing is missing, or it depends on others. */
  readonly expected: string | null
  readonly advice: string
}

export interface PreviewContext<Config extends ChannelConfig = ChannelConfig> extends RuntimeContext<Config> {
  /** A code that looks like one and leads nowhere. */
  shortLink(target: LinkTarget): Promise<string>
}

export interface DocumentContext<Config extends ChannelConfig = ChannelConfig> extends RuntimeContext<Config> {
  openSigner(): Promise<PdfSigner>
}

/** Signs PDFs. */
export interface PdfSigner {
  /** `description`: the kind of certificate, in Portuguese. */
  readonly certificate: { readonly description: string }
  sign(pdf: Uint8Array, about: { reason: string; at: Date }): Promise<{ pdf: Uint8Array }>
}

export interface DocumentReader {
  open(notification: string): Promise<DocumentSource | 'expired' | null>
  close?(): Promise<void>
}

export interface RuntimeContext<Config extends ChannelConfig = ChannelConfig> {
  readonly config: Config
  readonly publicUrl: string
  readonly keys: Keys
  readonly pool: Pool
  readonly clock: Clock
  readonly templates: TemplateRunner
}

export interface DeliveryContext<Config extends ChannelConfig = ChannelConfig> extends RuntimeContext<Config>, EventContext {
  /** The address of the simulator, where it runs; `simulatorAddress` reads one of the addresses that it publishes. */
  readonly simulatorUrl: string | null
  simulatorAddress(name: string): Promise<URL | null>
  /** Some channel has a real carrier, so that live messages go to real carriers only. */
  readonly hasCarriers: boolean
  shortLink(target: LinkTarget): Promise<string>
  /** Deletes the blobs among these that nothing uses any more. */
  dropBlobs(hashes: readonly string[]): Promise<unknown>
  onError(error: unknown, what: string): void
  /** Logs a warning that an operator should read. */
  warn(details: object, message: string): void
  /** Replaces parts of the channel in tests and benchmarks. */
  readonly options: object
}

/** The ways in which a channel's own work records facts. */
export interface EventContext {
  readonly pool: Pool
  readonly clock: Clock
  record(change: Change): Promise<ChangeOutcome>
  /** Records a carrier's events about its messages. */
  takeEvents(source: CarrierSource, events: readonly CarrierEvent[]): Promise<void>
}

/** The message that a file belongs to, and the carrier that got the message. */
export interface FileSource {
  carrier: string
  notification: string
  ordinal: number
}

/** What a worker needs of a channel. */
export interface ChannelDelivery<Message> {
  /** What the channel's providers are made of. */
  partsOf(provider: string, world: World): object
  /** From a claim to a message for the carrier, or the reason why there can be none. */
  prepare(world: World): (claim: Claim) => Promise<Message | Refused>
  /** The budget of one mode: large test messages to a silent simulator must not hold up live ones. */
  memory?(world: World): DeliveryMemory
  /** Whether an attempt's fact says that the recipient does not exist. The suppression is committed with the fact. */
  suppresses?(fact: Fact): boolean
  readonly chores?: readonly Chore[]
  /** Sends an e-mail of the installation's own, such as a checkpoint; throws where the carrier did not take it. */
  sendMail?(mail: OwnMail, signal: AbortSignal): Promise<void>
  /** Addresses that the simulator sends things back to, given the host under which it reaches us. */
  returnRoutes?(host: string): Readonly<Record<string, string>>
  close?(): Promise<void>
}

interface OwnMail {
  to: string
  subject: string
  text: string
  /** The same at every attempt. */
  reference: string
}

/** Bounds the bytes of the channel's messages in memory. */
export interface DeliveryMemory {
  /** The semaphore for these bytes: one permit is one byte. */
  budget: Semaphore
  /** The bytes that a message holds until it is sent; 0: too few to count. */
  weigh(claim: Claim): number
}

/** The carriers that deliveries of a mode go to: the real ones, or those of the simulator. */
export interface World {
  readonly mode: Mode
  /** The identity of the carrier. */
  readonly carrier: string
  /** null: the real ones. */
  readonly simulatorUrl: string | null
  onEvents(events: readonly CarrierEvent[]): Promise<void>
}

/** The reason why a delivery cannot be sent at all. */
export interface Refused {
  refused: Fact['data']
}
