import type { Channel } from '../domain/channel.js'
import { deleteInBatches, type Queryable, run } from './postgres.js'

/** What carriers call our messages. */
export interface CarrierReference {
  notification: string
  channel: Channel
  ordinal: number
  part: number
  parts: number
}

export const REFERENCE_COLUMNS = 'r.notification_id as notification, r.channel, r.ordinal, r.part, r.parts'

/** The message that a carrier knows by one of these names, the likeliest first. */
export async function findReference(db: Queryable, carrier: string, names: readonly string[]): Promise<CarrierReference | null> {
  const { rows } = await run<CarrierReference>(
    db,
    `select ${REFERENCE_COLUMNS} from carrier_reference r where r.carrier = $1 and r.reference = any($2::text[])
     order by array_position($2::text[], r.reference) limit 1`,
    [carrier, names],
  )
  return rows[0] ?? null
}

/** Those of these names that some message of ours bears already. */
export async function findKnownNames(db: Queryable, carrier: string, names: readonly string[]): Promise<Set<string>> {
  const { rows } = await run<{ reference: string }>(
    db,
    'select reference from carrier_reference where carrier = $1 and reference = any($2::text[])',
    [carrier, names],
  )
  return new Set(rows.map(row => row.reference))
}

/** Names of messages that no carrier speaks of any more. */
export async function deleteStaleReferences(db: Queryable): Promise<void> {
  await deleteInBatches(db, 'carrier_reference', "created_at < now() - interval '90 days'")
}

/**
 * The newest notification that had reached one of these numbers by then: whoever answers without saying to what, answers to
 * that. Before those of other carriers of its kind, those of the carrier itself.
 */
export async function findNewestTo(
  db: Queryable,
  channel: Channel,
  recipients: readonly string[],
  provider: string,
  at: Date | null,
): Promise<string | null> {
  const { rows } = await run<{ id: string }>(
    db,
    `select notification_id as id from delivery
     where channel = $1 and channel in ('sms', 'whatsapp') and recipient = any($2::text[])
       and split_part(provider, ':', 1) = split_part($3, ':', 1)
       and sent_at <= coalesce($4::timestamptz, now()) + interval '1 minute'
     order by (failure is null) desc, ($3 like '%:%' and provider = $3) desc, notification_id desc limit 1`,
    [channel, recipients, provider, at],
  )
  return rows[0]?.id ?? null
}
