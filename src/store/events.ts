import { randomBytes } from 'node:crypto'
import type { Json } from '../domain/canonical-json.js'
import { chainEvent, SALT_BYTES } from '../domain/evidence.js'
import { type Queryable, run } from './postgres.js'

export interface NewEvent {
  type: string
  source: string
  at: Date
  data: Json
}

/** Appends to a notification's chain. The caller holds the notification's lock, in the same transaction. */
export async function appendEvent(db: Queryable, notification: string, event: NewEvent): Promise<void> {
  const { rows } = await run<{ seq: number; at: Date; hash: Buffer }>(
    db,
    'select seq, at, hash from event where notification_id = $1 order by seq desc limit 1',
    [notification],
  )
  const last = rows[0]!
  const chained = chainEvent({
    notification,
    seq: last.seq + 1,
    // A chain's times never run backwards, whatever a node's clock does.
    at: new Date(Math.max(event.at.getTime(), last.at.getTime())).toISOString(),
    type: event.type,
    source: event.source,
    data: event.data,
    salt: randomBytes(SALT_BYTES),
    prev: last.hash.toString('hex'),
  })
  await run(
    db,
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     values ($1, $2, $3, $4, $5, $6, $7, decode($8, 'hex'), decode($9, 'hex'), decode($10, 'hex'))`,
    [
      notification,
      chained.seq,
      chained.at,
      chained.type,
      chained.source,
      JSON.stringify(chained.data),
      chained.salt,
      chained.commit,
      chained.prev,
      chained.hash,
    ],
  )
}
