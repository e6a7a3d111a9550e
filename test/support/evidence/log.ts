import { hash } from 'node:crypto'
import { expect } from 'vitest'
import { chainEvent, GENESIS } from '../../../src/domain/evidence/evidence.js'
import { newId } from '../../../src/domain/id.js'
import { extendLog, type LogParts } from '../../../src/evidence/log.js'
import { openLogKey } from '../../../src/evidence/log-key.js'
import { readLogHead } from '../../../src/store/evidence/log-head.js'
import type { Pool, Queryable } from '../../../src/store/postgres.js'
import { testKeys } from '../gateway/gateway.js'

/** The log of a test's database, and chains of events to put into it. */
export const logParts = async (pool: Pool, options: Partial<LogParts> = {}): Promise<LogParts> => ({
  pool,
  key: await openLogKey(pool, testKeys.sealing, 'https://notifica.example.com'),
  checkpointEveryMs: 0,
  ...options,
})

/** One chain, written in one transaction. */
export async function insertChain(db: Queryable, length: number, id = newId(Date.now())): Promise<string> {
  let prev = GENESIS
  const events = Array.from({ length }, (_, index) => {
    const event = chainEvent({
      notification: id,
      seq: index + 1,
      at: new Date(1_790_000_000_000 + index).toISOString(),
      type: 'note',
      source: 'test',
      data: { number: index, notification: id },
      salt: hash('sha256', `${id} ${index}`, 'buffer').subarray(0, 16),
      prev,
    })
    prev = event.hash
    return event
  })
  const column = <T>(read: (event: (typeof events)[number]) => T): T[] => events.map(read)
  await db.query(
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     select * from unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::text[], $5::text[], $6::jsonb[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[])`,
    [
      column(event => event.notification),
      column(event => event.seq),
      column(event => event.at),
      column(event => event.type),
      column(event => event.source),
      column(event => JSON.stringify(event.data)),
      column(event => event.salt),
      column(event => Buffer.from(event.commit, 'hex')),
      column(event => Buffer.from(event.prev, 'hex')),
      column(event => Buffer.from(event.hash, 'hex')),
    ],
  )
  return id
}

/**
 * Waits until the log has so many events, and signs a checkpoint of all of them: open transactions of other test files hold readers
 * back, and would make checkpoints of some.
 */
export async function extendTo(parts: LogParts, size: number): Promise<void> {
  await expect
    .poll(async () => {
      await extendLog({ ...parts, checkpointEveryMs: Number.POSITIVE_INFINITY })
      return (await readLogHead(parts.pool)).size
    })
    .toBe(size)
  await extendLog(parts)
}
