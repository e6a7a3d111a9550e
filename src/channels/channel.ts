import type { Command } from 'commander'
import type { TSchema } from 'typebox'
import type { Setting, StoredSettings } from '../domain/account.js'
import type { CarrierSource } from '../domain/carrier-source.js'
import type { Change, ChangeOutcome } from '../domain/change.js'
import type { ChannelTraits } from '../domain/channel.js'
import type { Clock } from '../domain/clock.js'
import type { RefusalCode } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import type { LinkTarget } from '../domain/link.js'
import type { JsonObject, RequestedDelivery } from '../domain/notification.js'
import type { Mode } from '../domain/token.js'
import type { Fact } from '../domain/transition.js'
import type { Chore } from '../runtime/chores.js'
import type { Semaphore } from '../runtime/semaphore.js'
import type { Claim } from '../store/delivery/claims.js'
import type { FoundStatus } from '../store/delivery/deliveries.js'
import type { ReferenceWrite } from '../store/delivery/records.js'
import type { Pool, Queryable } from '../store/postgres.js'
import type { Callback, CarrierEvent, CarrierFile, Provider, WhenUnknown } from './provider.js'
import type { TemplateRunner } from './template-runner.js'

/**
 * Everything the gateway asks of a channel. One folder per channel, one line in registry.ts. This part is loaded by every
 * command, so that it imports little; `contract` and `runtime` load the rest for those that need it.
 */
export interface ChannelModule<Config extends ChannelConfig = ChannelConfig> extends ChannelTraits {
  /** The channel's name on the wire: in paths, lists and webhooks. */
  readonly wire: string
  /** One byte inside recipients' links, which live for years: never changed, never reused. */
  readonly linkCode: number
  /** `type` of GET /gw/templates, and whether a filled-in template is markup. */
  readonly templates: { readonly code: string; readonly html: boolean }
  /** The account settings that the channel adds. */
  readonly settings: Readonly<Record<string, Setting>>
  /** The channel's part of the environment. */
  readEnvironment(environment: Environment): Config
  /** The providers by name: one line for each. */
  readonly providers: ProviderTable
  /** The protocols, beside HTTP, whose simulated carrier listens on a port of its own. */
  readonly simulatorPorts?: readonly string[]
  /** The message carries the content itself, so that a claim brings it. */
  readonly sendsContent?: boolean
  /** Recipients are people's names, not addresses or numbers that a page may show masked. */
  readonly recipientIsName?: boolean
  /** The access to the link is a fact of its own in the status. */
  readonly recordsLinkAccess?: boolean
  isOptOut?(answer: string): boolean
  /** Conditions of SQL under which the blob `b` is still in use by the channel's own tables. */
  readonly blobUses?: readonly string[]
  /** Called with the carriers' references in the transaction that stores them. */
  onReferences?(db: Queryable, references: readonly ReferenceWrite[]): Promise<void>
  /** Takes a file that a carrier reported about a message, such as a recording. */
  takeFile?(source: FileSource, file: CarrierFile, context: EventContext): Promise<void>
  /** Called before a person's decision about a delivery is recorded. */
  beforeOperatorDecision?(pool: Pool, notification: string, isRetry: boolean): Promise<void>
  /** Files that the gateway serves at addresses of their own. */
  readonly documents?: readonly DocumentRoute[]
  readonly commands?: readonly ChannelCommand[]
  /** What the demonstration account gets: a template, and the channel's part of the first send. */
  readonly demo: ChannelDemo
  contract(): Promise<ChannelContract>
  runtime(): Promise<ChannelRuntime<Config>>
}

/** What senders see of a channel: its part of POST /gw/email and its status record. */
export interface ChannelContract {
  readonly part: RequestPart
  readonly status: StatusRecord
  /** A recipient as deliveries of this channel store it; null: it cannot be one. */
  readContact(text: string): string | null
  /** What a recipient is, in Portuguese: "um endereço de e-mail". */
  readonly contactKind: string
}

interface RequestPart {
  /** The member of the send request. */
  readonly member: string
  readonly schema: TSchema
  /** The refusals of members that have a sentence of their own, by their path inside the request. */
  readonly refusals?: Readonly<Record<string, RefusalCode>>
  /** Reads the member's value, which the schema has accepted and which is not null; null: as if the member were absent. */
  read(value: never): Omit<RequestedDelivery, 'channel'> | null
}

interface StatusRecord {
  /** Of the OpenAPI document. */
  readonly summary: string
  readonly schema: TSchema
  from(status: FoundStatus, documentUrl: DocumentUrl): object
  /** What GET /gw/full shows beyond the status record. */
  readonly full?: { readonly members: Record<string, TSchema>; from(status: FoundStatus & { segments: number | null }): object }
}

/** The public address of a notification's document. */
export type DocumentUrl = (document: DocumentRoute, notification: string) => string

export interface DocumentRoute {
  readonly name: string
  /** The path before the code, such as '/gravacao'. */
  readonly path: string
  readonly extension: string
  readonly contentType: string
  readonly fileName: string
  /** Beyond the ones that every document has. */
  readonly headers?: Readonly<Record<string, string>>
  readonly missing: RefusalCode
  readonly expired?: RefusalCode
}

/** A document's bytes, read in pieces so that a long recording is never in memory as a whole. */
export interface DocumentSource {
  readonly size: number
  read(from: number, length: number): Promise<Uint8Array>
}

export interface ChannelConfig {
  /** The carriers in order of preference. */
  readonly carriers: readonly URL[]
  /** Told at the start where there is a carrier: settings left at a default that suits a trial only. */
  readonly warnings?: readonly string[]
}

/** The reader of the environment that app/config.ts gives to the modules. Every problem is collected and reported at once. */
export interface Environment {
  readonly dataFolder: string
  setting<T>(name: string, fallback: T, expected: string, read: (text: string) => T | null): T
  whole(name: string, fallback: number, least: number, most: number): number
  /** The carriers' URLs of a setting, each of a protocol of one of these providers. */
  carriers(name: string, providers: ProviderTable): URL[]
}

interface ChannelCommand {
  readonly name: string
  load(context: CommandContext): Promise<Command>
}

type Printed = Record<string, string | number | boolean | null | object>

/** What the administrative commands share (cli/administration.ts, cli/output.ts). */
export interface CommandContext {
  withDatabase<T>(work: (parts: { pool: Pool; keys: Keys }) => Promise<T>): Promise<T>
  audit(db: Queryable, action: string, subject: string, detail?: Record<string, unknown>): Promise<void>
  printRecord(record: Printed, options: { json?: boolean }): void
  printList(records: Printed[], options: { json?: boolean }): void
}

interface ChannelDemo {
  readonly template: { name: string; content: string; variables: string[]; metadata?: JsonObject }
  readonly settings?: StoredSettings
  /** The value of the channel's member in the first send. */
  readonly part: unknown
}

export type ProviderTable = Readonly<Record<string, ProviderEntry>>

interface ProviderEntry {
  /** Of the URLs that name its carriers. */
  readonly protocols: readonly string[]
  /** What happens to its attempts whose outcome is unknown. */
  readonly whenUnknown: WhenUnknown
  load(): Promise<ProviderModule>
}

/** What a provider's file exports. `Parts` and `CallbackParts` come from the channel's runtime. */
export interface ProviderModule<Message = unknown, Parts = unknown, CallbackParts = unknown> {
  create(parts: Parts): Provider<Message>
  /** The account at the carrier, whatever its secrets and options; where absent, user and server of the URL. */
  identify?(url: URL): string
  /** The number of messages that may be on their way to this carrier. A bad number is refused when the carrier is opened. */
  concurrency(url: URL): number
  /** The reader of callbacks over HTTP: of the operator's carriers, or of the simulated one. */
  callback?(senders: CallbackSenders, parts: CallbackParts): Callback
}

/** The carriers that may send callbacks to one reader, and the modes of the messages that they get. */
export type CallbackSenders = { readonly modes: readonly Mode[] } & (
  | { readonly carriers: readonly { readonly url: URL; readonly identity: string }[] }
  | { readonly simulatorSecret: string; readonly identity: string }
)

/** What runs in the api and in the worker. */
export interface ChannelRuntime<Config extends ChannelConfig = ChannelConfig> {
  openDelivery(context: DeliveryContext<Config>): Promise<ChannelDelivery<unknown>>
  /** What the providers' readers of callbacks need. */
  callbackParts?(context: RuntimeContext<Config>): object
  /** The readers of the documents that the module declares, by name; null: there is none, expired: it was deleted. */
  documents?(context: RuntimeContext<Config>): Readonly<Record<string, DocumentReader>>
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
  dropBlobs(hashes: readonly string[]): Promise<void>
  onError(error: unknown, what: string): void
  /** Told of things that an operator should read. */
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
  /** Addresses that the simulator sends things back to, given the host under which it reaches us. */
  returnRoutes?(host: string): Readonly<Record<string, string>>
  close?(): Promise<void>
}

/** Bounds the bytes of the channel's messages in memory. */
export interface DeliveryMemory {
  /** Of bytes. */
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
