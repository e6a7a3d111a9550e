import type { Channel } from '../domain/channel.js'
import type { PackedContent, SentContent } from '../domain/delivery/sent-content.js'
import type { Failure } from '../domain/delivery/status.js'
import type { Json } from '../domain/evidence/canonical-json.js'
import { hideLinksIn } from '../domain/recipient/link.js'

/** The only contract between the gateway and a carrier. One provider, one file. */
export interface Provider<Message> {
  /** 'smtp', 'smpp': the first part of the identity of its carriers (carrier-name.ts). */
  readonly name: string
  readonly channel: Channel
  readonly whenUnknown: WhenUnknown
  /**
   * The longest that a send may take: a third of a lease. A send of class 'safe' or 'never' may take longer: its lease is renewed
   * while its worker lives, and after the worker's death a repetition is harmless ('safe') or does not happen ('never').
   */
  readonly timeoutMs: number
  /** Opens the carrier that a setting's URL names. A bad URL throws OperatorError with its name. */
  open(url: URL): Promise<Carrier<Message>>
}

/**
 * What happens to an attempt whose outcome is unknown. safe: sent again under the same reference (a duplicate is harmless, a
 * loss is not); report: waits for the carrier's report, and without a report is shown to a person, unless the operator chose to have it
 * sent once more (`repeatAfterMs`); lookup: asks the carrier; never: shown to a person.
 */
export type WhenUnknown = 'safe' | 'report' | 'lookup' | 'never'

/** A carrier's later report about a message that it took. Reports come twice, late, in any order, and before the answer to the send. */
export interface CarrierReport {
  kind: 'report'
  of: Named
  type: 'sent' | 'processed' | 'prepared' | 'delivered' | 'read' | 'failed' | 'again' | 'note'
  /** By the carrier's clock; null: now. */
  at: Date | null
  /** The carrier's own words or code, for the timeline. */
  answer: string
  failure?: Failure
  /** In Portuguese, of failures. */
  reason?: string
  /** How long to wait before the next message, if the type is 'again'. */
  delayMs?: number
  trackingCode?: string
  /** What else is known of it, as in a receipt. */
  facts?: Facts
  /** The carrier signed it, and the signature was verified. */
  signed?: true
}

/**
 * How a report names its message: by the carrier's reference, in any of several spellings, or by ours where it is given back.
 * Both: the carrier's is learned from it, should the answer to the send have been lost or overtaken.
 */
type Named =
  | { carrier: readonly string[]; tag?: ReferenceTag }
  | {
      ours: string
      carrier?: readonly string[]
      /** Which part of it is meant, of a message that travels in several. */
      part?: { number: number; total: number }
    }

/** The few bits of our reference that a carrier gives back (domain/delivery/reference-tag.ts): with the number they name an attempt of unknown outcome. */
export interface ReferenceTag {
  /** E.164. */
  recipient: string
  bits: number
}

/** A recipient's answer. */
export interface CarrierReply {
  kind: 'reply'
  /** The ways in which the person's number may be written, E.164; none where the answer can belong only to the message that it names. */
  from: readonly string[]
  text: string
  /** The carrier's name for the answer, the same when it is reported twice. */
  id: string | null
  /** The carrier's reference of the message that was answered, where it is reported. */
  inReplyTo: string | null
  at: Date | null
  /** The place of this part in an answer that travels in several: the name that the parts share, the number of this part, and how many there are. */
  part?: { of: string; number: number; total: number; halves?: SplitCharacters }
}

/** The characters that are split between two parts, as UTF-16 code units: the half before the text of this part, and the half after it. */
export interface SplitCharacters {
  before?: number
  after?: number
}

/** The recording of a call. */
export interface CarrierFile {
  kind: 'file'
  /** Our reference of the call. */
  of: { ours: string }
  /** The carrier's name for it, the same when it is reported twice. */
  id: string
  seconds: number | null
  /** Where the provider holds it already; otherwise it is fetched by its name. */
  bytes?: Buffer
}

export type CarrierEvent = CarrierReport | CarrierReply | CarrierFile

/** A request from outside that claims to come from a carrier. */
export interface CallbackRequest {
  method: string
  /** As the carrier called it, with scheme, host and query. */
  url: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

/** The reader of a carrier's callbacks over HTTP, served below /callbacks/. Beside the provider, in its file. */
export interface Callback {
  /** The name of the provider that sent the messages of the reports; also the last part of the callback's path. */
  readonly name: string
  readonly channel: Channel
  /** Verifies, then translates. null: this is not from the carrier. */
  read(request: CallbackRequest): Promise<CallbackContent | null>
}

export interface CallbackContent {
  /** The identities of the carriers that may have sent it: the callback is signed with their secret. */
  carriers: readonly string[]
  events: CarrierEvent[]
  /** What the carrier wants to read in return; nothing where absent. */
  answer?: { type: string; body: string }
}

export interface Carrier<Message> {
  /** false: known to be out of reach: nothing is sent to it, and the next carrier of the channel is used. */
  readonly ready?: boolean
  /** true: this carrier can never carry the message, but another one of the channel may. If there is no other, `send` refuses the message. */
  lacks?(message: Message): boolean
  /** Hands over one message. Throws SendError and nothing else. */
  send(message: Message, signal: AbortSignal): Promise<Receipt>
  /**
   * What the carrier got of a message that was handed over, or may have been: called after `send`, for the evidence. It may be packed already,
   * where the message was made. null: nothing.
   */
  contentOf(message: Message): SentContent | PackedContent | null
  /** Asks what became of a message, by our reference ('lookup' providers). 'unknown': the carrier never took it. */
  find?(reference: string, sentTo: string | null, signal: AbortSignal): Promise<Found>
  /**
   * A choice of the operator, for 'report' providers: a message without a report is sent once more, so long after its outcome became
   * unknown. A repetition may be a second copy.
   */
  readonly repeatAfterMs?: number
  close(): Promise<void>
}

/** What a carrier knows of a message whose answer was lost. */
export type Found = 'unknown' | Pick<Receipt, 'references' | 'answer'>

export interface Receipt {
  /** What the carrier calls the message that it took, one name per part (null: an earlier try's); empty where it gives none. */
  references: readonly (string | null)[]
  /** Its answer as it came, for the timeline. */
  answer: string
  /** Whether the recipient's own server took it; otherwise delivery is known only by a later report. */
  delivered: boolean
  /** What else is known of it, for the timeline and the proofs. Never a credential. */
  facts?: Facts
}

export type Facts = Readonly<Record<string, Json>>

/**
 * temporary: try again later; throttled: the carrier asked to slow down; permanent: it will never be taken;
 * uncertain: the bytes left and no answer came.
 */
export type SendErrorKind = 'temporary' | 'throttled' | 'permanent' | 'uncertain'

type SendErrorOptions = Partial<
  Pick<SendError, 'answer' | 'retryAfterMs' | 'scope' | 'references' | 'untried' | 'facts' | 'cause'>
>

export class SendError extends Error {
  readonly kind: SendErrorKind
  /** In Portuguese, for the status and the timeline. */
  readonly reason: string
  /** The carrier's answer as it came. */
  readonly answer: string | null
  readonly retryAfterMs: number | null
  /** Whether the carrier fails, so that other messages are kept back too, or only this message. */
  readonly scope: 'carrier' | 'message'
  /** The carrier's names for the parts that it surely took of an uncertain message in several parts; null for the other parts. */
  readonly references: readonly (string | null)[]
  /** The carrier was not called: the message goes back to the queue as it came. */
  readonly untried: boolean
  /** What else is known of the attempt, as in a receipt. Set by the provider before the error leaves it. */
  facts: Facts

  constructor(kind: SendErrorKind, reason: string, options: SendErrorOptions = {}) {
    // The message goes to the log, and some carriers' answers repeat the text with the recipient's link.
    super(hideLinksIn(`${kind}: ${options.answer ?? reason}`), { cause: options.cause })
    this.name = 'SendError'
    this.kind = kind
    this.reason = reason
    this.answer = options.answer ?? null
    this.retryAfterMs = options.retryAfterMs ?? null
    this.scope = options.scope ?? 'carrier'
    this.references = options.references ?? []
    this.untried = options.untried ?? false
    this.facts = options.facts ?? {}
  }
}
