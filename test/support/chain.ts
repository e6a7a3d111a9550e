import { type ChainedEvent, findChainFault } from '../../src/domain/evidence.js'
import type { Queryable } from '../../src/store/postgres.js'

interface EventRow {
  notification_id: string
  seq: number
  at: Date
  type: string
  source: string
  data: ChainedEvent['data']
  salt: Buffer | null
  commit: Buffer
  prev: Buffer
  hash: Buffer
}

/** Reads every event and names the notifications whose chain is not whole. */
export async function brokenChains(db: Queryable): Promise<{ notification: string; seq: number; fault: string }[]> {
  const { rows } = await db.query<EventRow>('select * from event order by notification_id, seq')
  const chains = new Map<string, EventRow[]>()
  for (const row of rows) chains.set(row.notification_id, [...(chains.get(row.notification_id) ?? []), row])
  return [...chains].flatMap(([notification, events]) => {
    const fault = findChainFault(
      events.map(row => ({
        notification,
        seq: row.seq,
        at: row.at.toISOString(),
        type: row.type,
        source: row.source,
        data: row.data,
        salt: row.salt,
        commit: row.commit.toString('hex'),
        prev: row.prev.toString('hex'),
        hash: row.hash.toString('hex'),
      })),
    )
    return fault === null ? [] : [{ notification, ...fault }]
  })
}
