import type { Command } from 'commander'
import type { Keys } from '../domain/access/keys.js'
import type { AccountSettings, Bilingual, Setting, StoredSettings } from '../domain/account.js'
import type { ChannelTraits } from '../domain/channel.js'
import type { Json } from '../domain/evidence/canonical-json.js'
import type { JsonObject } from '../domain/notification.js'
import type { ReferenceWrite } from '../store/delivery/records.js'
import type { Pool, Queryable, Transaction } from '../store/postgres.js'
import type { SealedValues } from '../store/sealed-values.js'
import type { ChannelConfig, Environment } from './channel-config.js'
import type { ChannelContract, DocumentRoute } from './channel-contract.js'
import type { ChannelRuntime, EventContext, FileSource } from './channel-runtime.js'
import type { CarrierFile } from './provider.js'
import type { ProviderTable } from './provider-module.js'

/**
 * Everything the gateway asks of a channel. One folder per channel, one line in registry.ts. This part is loaded by every
 * command, so that it imports little; `contract` and `runtime` load the rest for those that need it.
 */
export interface ChannelModule<Config extends ChannelConfig = ChannelConfig> extends ChannelTraits {
  /** How the console shows the channel: the name of an icon and of a colour of its own sets (console/src/parts/data/channel.tsx). */
  readonly look: { readonly icon: string; readonly color: string; readonly english: string }
  /** The channel's name on the wire: in paths, lists and webhooks. */
  readonly wire: string
  /** One byte inside recipients' links, which live for years: never changed, never reused. */
  readonly linkCode: number
  readonly templates: ChannelTemplates
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
  /** The days for which carriers report on a message; absent: REFERENCE_DAYS (domain/retention.ts). */
  readonly reportDays?: number
  isOptOut?(answer: string): boolean
  /** The text as it leaves, where it travels over a mobile network in parts. */
  fitText?(text: string, settings: StoredSettings): string
  /** Members of its events' data in words for proofs; the other members are shown by their name. */
  readonly explainFacts?: Readonly<Record<string, (value: Json) => readonly FactDetail[]>>
  /** What a proof shows of a message as it was sent, beside its hash; where absent, a text as it is. */
  explainContent?(bytes: Uint8Array): readonly FactDetail[]
  /** Conditions of SQL under which the blob `b` is still in use by the channel's own tables. */
  readonly blobUses?: readonly string[]
  /** Called with the carriers' references in the transaction that stores them. */
  onReferences?(db: Queryable, references: readonly ReferenceWrite[]): Promise<void>
  /** Takes a file that a carrier reported about a message, such as a recording. */
  takeFile?(source: FileSource, file: CarrierFile, context: EventContext): Promise<void>
  /** The recordings of a notification's messages that are still kept, for its evidence. */
  listRecordings?(db: Queryable, notification: string): Promise<KeptRecording[]>
  /** The files that the channel's own tables keep of a notification, for whoever asks for a person's data. */
  listPersonalFiles?(db: Queryable, notification: string): Promise<PersonalFile[]>
  /** Called before a person's decision about a delivery is recorded. */
  beforeOperatorDecision?(pool: Pool, notification: string, isRetry: boolean): Promise<void>
  /** Secrets in the channel's own tables, sealed under the master key. */
  readonly sealedValues?: SealedValues
  /** The database is an older copy: stops the work that the channel's own tables still list, which may have been done since, and uses no number again. */
  onRestored?(db: Queryable): Promise<void>
  /** Files that the gateway serves at addresses of their own. */
  readonly documents?: readonly DocumentRoute[]
  readonly commands?: readonly ChannelCommand[]
  /** What the demonstration account gets: a template, and the channel's part of the first send. */
  readonly demo: ChannelDemo
  /** Shows an account's identity and brand as a message of this channel has them, for whoever edits them. */
  brandSampler?(): Promise<BrandSampler>
  contract(): Promise<ChannelContract>
  runtime(): Promise<ChannelRuntime<Config>>
}

export interface BrandSampler {
  /** A page, or a file that browsers show. */
  show(brand: ShownBrand): Promise<{ type: string; body: string | Uint8Array }>
  close?(): Promise<void>
}

/** An account as its messages would show it; the settings may not be saved yet. */
export interface ShownBrand {
  accountName: string
  settings: AccountSettings
  logo: { sha256: string; type: string; bytes: Buffer } | null
  publicUrl: string
}

/** A fact for people, in Portuguese: a value, or lines as a machine wrote them. */
export type FactDetail =
  | { readonly label: string; readonly value: string; readonly machine?: boolean }
  | { readonly label: string; readonly lines: readonly string[] }

export interface PersonalFile {
  /** Unique within the notification. */
  readonly name: string
  readonly sha256: string
  /** null: it is gone. */
  read(db: Queryable): Promise<Uint8Array | null>
}

/** A recording that is stored as a blob. */
export interface KeptRecording {
  /** The ordinal of the message that was recorded. */
  ordinal: number
  sha256: string
  size: number
}

interface ChannelTemplates {
  /** `type` of GET /gw/templates. */
  readonly code: string
  /** A filled-in template is markup. */
  readonly html: boolean
  /** {SHORT_LINK} stands for the recipient's link. Where it does not, it would be sent as it stands. */
  readonly link: boolean
  /** The members of a send that name the template and the values of its variables. */
  readonly member: string
  readonly values: string
  /** Without a template the channel has nothing to say: it takes no text of its own and does not send the content. */
  readonly required?: boolean
  /** The members of a template's `metadata` that the channel reads. */
  readonly metadata?: readonly MetadataField[]
}

/** A member of a template's `metadata`, as the console's form asks for it. `variables`: names of variables of the template. */
export interface MetadataField {
  readonly name: string
  readonly kind: 'text' | 'number' | 'switch' | 'choice' | 'variables'
  readonly label: Bilingual
  readonly hint: Bilingual
  readonly choices?: readonly (Bilingual & { readonly value: string })[]
}

interface ChannelCommand {
  readonly name: string
  load(context: CommandContext): Promise<Command>
}

type Printed = Record<string, string | number | boolean | null | object>

/** What the administrative commands share (cli/administration.ts, cli/output.ts). */
export interface CommandContext {
  withDatabase<T>(work: (parts: { pool: Pool; keys: Keys }) => Promise<T>): Promise<T>
  audit(db: Transaction, action: string, subject: string, detail?: Record<string, unknown>): Promise<void>
  printRecord(record: Printed, options: { json?: boolean }): void
  /** `whenEmpty`: says that there is nothing, and what to do next. */
  printList(records: Printed[], whenEmpty: string, options: { json?: boolean }): void
}

interface ChannelDemo {
  readonly template: { name: string; content: string; variables: string[]; metadata?: JsonObject }
  readonly settings?: StoredSettings
  /** The value of the channel's member in the first send, which is about Maria's contract 4711 and this date. */
  part(dueDate: string): unknown
}
