import type { TSchema } from 'typebox'
import type { RefusalCode } from '../domain/errors.js'
import type { RequestedDelivery } from '../domain/notification.js'
import type { OwnRefusal } from '../domain/schema.js'
import type { FoundStatus } from '../store/delivery/deliveries.js'
import type { FormField } from './preview.js'

/** What senders see of a channel: its part of POST /gw/email and its status record. */
export interface ChannelContract {
  readonly part: RequestPart
  readonly status: StatusRecord
  /** A recipient as deliveries of this channel store it; null: it cannot be one. */
  readContact(text: string): string | null
  /** What the console's form asks for, beside a template and the values of its variables. */
  readonly form: readonly FormField[]
  /** What a recipient is, in Portuguese: "um endereço de e-mail". */
  readonly contactKind: string
}

interface RequestPart {
  /** The member of the send request. */
  readonly member: string
  readonly schema: TSchema
  /** Members beside it, at the top level of the request, that belong to the channel too. */
  readonly beside?: Readonly<Record<string, TSchema>>
  /** The refusals of members that have a sentence of their own, by their path inside the request. */
  readonly refusals?: Readonly<Record<string, OwnRefusal>>
  /**
   * Reads the member's value, which the schema has accepted and which is not null; null: as if the member were absent. `body`: the whole
   * request, for the members beside it.
   */
  read(value: never, body: never): Omit<RequestedDelivery, 'channel'> | null
}

interface StatusRecord {
  /** The summary of the route in the OpenAPI document. */
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
  /** Made when it is asked for: two makings have different bytes, so that ranges of two answers do not make one file. */
  readonly madeOnDemand?: boolean
  /** Beyond the ones that every document has. */
  readonly headers?: Readonly<Record<string, string>>
  readonly missing: RefusalCode
  readonly expired?: RefusalCode
}
