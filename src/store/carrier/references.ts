import type { Channel } from '../../domain/channel.js'
import { deleteInBatches, type Queryable, queryRow, queryValue, queryValues } from '../postgres.js'

/** The message, or the part of it, that a carrier's own reference names. */
export interface CarrierReference {
  notification: string
  channel: Channel
  ordinal: number
  part: number
  parts: number
}

export const REFERENCE_COLUMNS = 'r.notification_id as notification, r.channel, r.ordinal, r.part, r.parts'

/** The message that a carrier knows by one of these names; the first name that is found counts. */
export const findReference = (db: Queryable, provider: string, names: readonly string[]): Promise<CarrierReference | null> =>
  queryRow(
    db,
    `select ${REFERENCE_COLUMNS} from carrier_reference r where r.provider = $1 and r.reference = any($2::text[])
     order by array_position($2::text[], r.reference) limit 1`,
    [provider, names],
  )

/** Which of these names belong to a message already. */
export const findKnownNames = async (db: Queryable, provider: string, names: readonly string[]): Promise<Set<string>> =>
  new Set(
    await queryValues<string>(db, 'select reference from carrier_reference where provider = $1 and reference = any($2::text[])', [
      provider,
      names,
    ]),
  )

/** No carrier reports on a message after three months. */
export const deleteStaleReferences = (db: Queryable): Promise<void> =>
  deleteInBatches(db, 'carrier_reference', "created_at < now() - interval '90 days'")

/**
 * The newest notification that had reached one of these numbers by then: a reply that does not name its message is a reply to
 * the newest. Messages that this carrier sent come before those that other carriers of its provider sent.
 */
export const findNewestTo = (
  db: Queryable,
  channel: Channel,
  recipients: readonly string[],
  carrier: string,
  at: Date | null,
): Promise<string | null> =>
  queryValue(
    db,
    `select notification_id as id from delivery
     where channel = $1 and recipient = any($2::text[]) and recipient like '+%'
       and split_part(carrier, ':', 1) = split_part($3, ':', 1)
       and (sent_at <= coalesce($4::timestamptz, now()) + interval '1 minute'
         -- A quick reply may come before the answer to the send is recorded.
         or (sent_at is null and state in ('sending', 'uncertain', 'unresolved')))
     order by (failure is null) desc, (carrier = $3) desc, notification_id desc limit 1`,
    [channel, recipients, carrier, at],
  )

/** Messages to a number, with an attempt of unknown outcome: only they can be the subject of a report that names a reference tag. */
export const WITH_UNKNOWN_OUTCOME =
  "d.recipient like '+%' and d.unknown_count > 0 and d.delivered_at is null and coalesce(d.failure, 'rejected') = 'rejected'"

/** A company may report over any of its connections, whichever of them the message was sent over. */
export const ofSameProvider = (carrier: string): string => `split_part(d.carrier, ':', 1) = split_part(${carrier}, ':', 1)`

/** Our references of the messages with unknown outcome to one number. */
export const findUnknownTo = (db: Queryable, channel: Channel, carrier: string, recipient: string): Promise<string[]> =>
  queryValues(
    db,
    `select d.reference from delivery d
     where d.recipient = $3 and ${WITH_UNKNOWN_OUTCOME} and d.channel = $1 and ${ofSameProvider('$2')}`,
    [channel, carrier, recipient],
  )
