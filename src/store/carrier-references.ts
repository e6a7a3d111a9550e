import type { Channel } from '../domain/channel.js'
import { deleteInBatches, type Queryable, run } from './postgres.js'

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
export async function findReference(db: Queryable, provider: string, names: readonly string[]): Promise<CarrierReference | null> {
  const { rows } = await run<CarrierReference>(
    db,
    `select ${REFERENCE_COLUMNS} from carrier_reference r where r.provider = $1 and r.reference = any($2::text[])
     order by array_position($2::text[], r.reference) limit 1`,
    [provider, names],
  )
  return rows[0] ?? null
}

/** Which of these names belong to a message already. */
export async function findKnownNames(db: Queryable, provider: string, names: readonly string[]): Promise<Set<string>> {
  const { rows } = await run<{ reference: string }>(
    db,
    'select reference from carrier_reference where provider = $1 and reference = any($2::text[])',
    [provider, names],
  )
  return new Set(rows.map(row => row.reference))
}

/** No carrier reports on a message after three months. */
export async function deleteStaleReferences(db: Queryable): Promise<void> {
  await deleteInBatches(db, 'carrier_reference', "created_at < now() - interval '90 days'")
}

/**
 * The newest notification that had reached one of these numbers by then: a reply that does not name its message is a reply to
 * the newest. Messages that this carrier sent come before those that other carriers of its provider sent.
 */
export async function findNewestTo(
  db: Queryable,
  channel: Channel,
  recipients: readonly string[],
  carrier: string,
  at: Date | null,
): Promise<string | null> {
  const { rows } = await run<{ id: string }>(
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
  return rows[0]?.id ?? null
}
