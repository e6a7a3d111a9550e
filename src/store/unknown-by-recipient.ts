import type { Channel } from '../domain/channel.js'
import { type Queryable, run } from './postgres.js'

/** Messages to a number, with an attempt of unknown outcome: only they can be the subject of a report that names a reference tag. */
export const WITH_UNKNOWN_OUTCOME =
  "d.recipient like '+%' and d.unknown_count > 0 and d.delivered_at is null and coalesce(d.failure, 'rejected') = 'rejected'"

/** A company may report over any of its connections, whichever of them the message was sent over. */
export const ofSameProvider = (carrier: string): string => `split_part(d.carrier, ':', 1) = split_part(${carrier}, ':', 1)`

/** Our references of the messages with unknown outcome to one number. */
export async function findUnknownTo(db: Queryable, channel: Channel, carrier: string, recipient: string): Promise<string[]> {
  const { rows } = await run<{ reference: string }>(
    db,
    `select d.reference from delivery d
     where d.recipient = $3 and ${WITH_UNKNOWN_OUTCOME} and d.channel = $1 and ${ofSameProvider('$2')}`,
    [channel, carrier, recipient],
  )
  return rows.map(row => row.reference)
}
