import type { Channel } from '../../domain/channel.js'
import type { AttemptedDelivery, CarrierSource } from '../../domain/delivery/carrier-source.js'
import { deleteInBatches, doAll, type Queryable, queryRow, queryValue, queryValues } from '../postgres.js'

/** The message, or the part of it, that a carrier's own reference names. */
export interface CarrierReference {
  notification: string
  channel: Channel
  ordinal: number
  part: number
  parts: number
  /** Found by our tag or reference alone, which every copy of the message bears. */
  tagged?: true
}

export const REFERENCE_COLUMNS = 'r.notification_id as notification, r.channel, r.ordinal, r.part, r.parts'

/** Orders the references r that carriers know by several names: the first name that is found counts, then the first carrier. */
export const byLikelihood = (names: string, carriers: string): string =>
  `order by array_position(${names}, r.reference), array_position(${carriers}, r.carrier) limit 1`

/** The message that one of these carriers knows by one of these names. */
export const findReference = (
  db: Queryable,
  carriers: readonly string[],
  names: readonly string[],
): Promise<CarrierReference | null> =>
  queryRow(db, {
    name: 'find-reference',
    text: `select ${REFERENCE_COLUMNS} from carrier_reference r where r.carrier = any($1::text[]) and r.reference = any($2::text[])
           ${byLikelihood('$2::text[]', '$1::text[]')}`,
    values: [carriers, names],
  })

/** Which of these names belong to a message already. */
export const findKnownNames = async (db: Queryable, carrier: string, names: readonly string[]): Promise<Set<string>> =>
  new Set(
    await queryValues<string>(db, {
      name: 'find-known-names',
      text: 'select reference from carrier_reference where carrier = $1 and reference = any($2::text[])',
      values: [carrier, names],
    }),
  )

/** The attempts of a delivery; null: there is no such delivery. */
export const findAttempts = (db: Queryable, notification: string, channel: Channel): Promise<AttemptedDelivery | null> =>
  queryRow(db, {
    name: 'find-attempts',
    text: "select channel, mode, coalesce(attempted, '{}') as attempted from delivery where notification_id = $1 and channel = $2",
    values: [notification, channel],
  })

/** Deletes the references of messages on which no carrier reports any more, by the term of each channel. A channel that fails stops no other. */
export async function deleteStaleReferences(db: Queryable, terms: readonly { channel: Channel; days: number }[]): Promise<void> {
  const isStale = "channel = $1 and created_at < now() - $2 * interval '1 day'"
  await doAll(terms, ({ channel, days }) =>
    deleteInBatches(db, 'carrier_reference', isStale, 'channel, created_at', [channel, days]),
  )
}

/** A message of the delivery d that this source was given last, as parameters: channel, carriers, modes. */
const OF_SOURCE = 'd.channel = $1 and d.carrier = any($2::text[]) and d.mode = any($3::text[])'

const valuesOf = ({ channel, carriers, modes }: CarrierSource) => [channel, carriers, modes] as const

/**
 * The newest notification that had reached one of these numbers by then through this source: a reply that does not name its
 * message is a reply to the newest. `isNamed`: the reply names a message by a name that is not stored. Then only a message with
 * a name that we may not know can be meant; the others have other names.
 */
export const findNewestTo = (
  db: Queryable,
  source: CarrierSource,
  recipients: readonly string[],
  at: Date | null,
  isNamed: boolean,
): Promise<string | null> =>
  queryValue(db, {
    name: 'find-newest-to',
    text: `select notification_id as id from delivery d
           where recipient = any($4::text[]) and recipient like '+%' and ${OF_SOURCE}
             and (sent_at <= coalesce($5::timestamptz, now()) + interval '1 minute'
               -- A quick reply may come before the answer to the send is recorded.
               or (sent_at is null and state in ('sending', 'uncertain', 'unresolved')))
             and (not $6 or state = 'sending' or unknown_count > 0)
           order by (failure is null) desc, (carrier = ($2::text[])[1]) desc, notification_id desc limit 1`,
    values: [...valuesOf(source), recipients, at, isNamed],
  })

/**
 * Messages to a number, with an attempt of unknown outcome: only they can be the subject of a report that names a reference tag. A
 * failure may be of one copy and the report of another.
 */
export const WITH_UNKNOWN_OUTCOME =
  "d.recipient like '+%' and d.unknown_count > 0 and d.delivered_at is null and coalesce(d.failure, 'rejected') in ('rejected', 'undelivered')"

/** Our references of the messages with unknown outcome that this source may have sent to one number. */
export const findUnknownTo = (db: Queryable, source: CarrierSource, recipient: string): Promise<string[]> =>
  queryValues(
    db,
    `select d.reference from delivery d
     where d.recipient = $4 and ${WITH_UNKNOWN_OUTCOME} and ${OF_SOURCE}`,
    [...valuesOf(source), recipient],
  )
