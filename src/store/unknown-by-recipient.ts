import type { Channel } from '../domain/channel.js'
import { type Queryable, run } from './postgres.js'

/** Sends of which nobody knew at some time whether they happened: only they can be told of by a mark. */
export const DOUBTFUL =
  "d.channel in ('sms', 'whatsapp') and d.doubts > 0 and d.delivered_at is null and coalesce(d.failure, 'rejected') = 'rejected'"

/** A carrier may report over any of its connections, whichever of its names the message was sent under. */
export const ofKind = (provider: string): string => `split_part(d.provider, ':', 1) = split_part(${provider}, ':', 1)`

/** Our references of those to one number. */
export async function findDoubtful(db: Queryable, channel: Channel, provider: string, recipient: string): Promise<string[]> {
  const { rows } = await run<{ reference: string }>(
    db,
    `select d.reference from delivery d where d.recipient = $3 and ${DOUBTFUL} and d.channel = $1 and ${ofKind('$2')}`,
    [channel, provider, recipient],
  )
  return rows.map(row => row.reference)
}
