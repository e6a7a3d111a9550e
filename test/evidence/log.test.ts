import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { extendLog, ForeignEvents, finishLog } from '../../src/evidence/log.js'
import { buildProofs } from '../../src/evidence/log-hashes.js'
import { openLogKey } from '../../src/evidence/log-key.js'
import { readLogProof } from '../../src/evidence/log-proof.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { readCheckpoint, readNote, readVerifier, verifyNote } from '../../src/evidence/note.js'
import { GrowingTree, planConsistency } from '../../src/evidence/tree.js'
import { isIncluded } from '../../src/evidence/verify/merkle.js'
import { findNewestCheckpoint, listCheckpoints } from '../../src/store/evidence/checkpoints.js'
import { readLogHead } from '../../src/store/evidence/log-head.js'
import { insertTimeStamp } from '../../src/store/evidence/time-stamps.js'
import { openPool, transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { holdRows } from '../support/database/locks.js'
import { afterStatement } from '../support/database/statements.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { testKeys } from '../support/gateway/gateway.js'
import { verifyConsistency } from './consistency.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

beforeEach(() =>
  database.tamper(
    `truncate event, log_leaf, log_node, checkpoint, checkpoint_cosignature, checkpoint_time_stamp;
     update log_head set size = 0, peaks = '', transaction_id = null, notification_id = null, seq = null, server = null`,
  ),
)

const storedHashes = async (order: string): Promise<Buffer[]> => {
  const { rows } = await database.pool.query<{ hash: Buffer }>(
    `select e.hash from event e join log_leaf l on l.notification_id = e.notification_id and l.seq = e.seq order by ${order}`,
  )
  return rows.map(({ hash }) => hash)
}

const rootOf = (hashes: readonly Buffer[]): Buffer => {
  const tree = new GrowingTree()
  for (const hash of hashes) tree.append(hash)
  return tree.root()
}

test('events become leaves in the order of their commit, and a signed checkpoint tells size and root', async () => {
  const parts = await logParts(database.pool)
  for (let index = 0; index < 5; index++) await insertChain(database.pool, 3)
  await extendTo(parts, 15)
  const hashes = await storedHashes('e.transaction_id, e.notification_id, e.seq')
  expect(await storedHashes('l.leaf')).toEqual(hashes)
  const { note, size, root } = (await findNewestCheckpoint(database.pool))!
  const signed = readNote(note)!
  expect(verifyNote(signed, readVerifier(parts.key.vkey)!)).not.toBeNull()
  expect(readCheckpoint(signed.text)).toMatchObject({ origin: parts.key.origin, size: 15, root: rootOf(hashes) })
  expect([size, root]).toEqual([15, rootOf(hashes)])
  expect(parts.key.origin).toMatch(/^notifica\.example\.com\/carteiro\/[0-9a-f]{8}$/)
  expect(await openLogKey(database.pool, testKeys.sealing, 'https://other.example.com')).toMatchObject({
    origin: parts.key.origin,
    vkey: parts.key.vkey,
  })
})

test('nothing new makes no checkpoint, and events that keep coming make one only after a while', async () => {
  const parts = await logParts(database.pool, { checkpointEveryMs: 3_600_000 })
  await insertChain(database.pool, 2)
  await extendTo(parts, 2)
  await extendLog(parts)
  await insertChain(database.pool, 2)
  await extendTo(parts, 4)
  expect((await listCheckpoints(database.pool, 0, 10)).map(({ size }) => size)).toEqual([2])
  await extendLog({ ...parts, checkpointEveryMs: 0 })
  await extendLog({ ...parts, checkpointEveryMs: 0 })
  expect((await listCheckpoints(database.pool, 0, 10)).map(({ size }) => size)).toEqual([2, 4])
})

test('proofs of 66,000 events verify against the checkpoint, and two checkpoints are consistent', async () => {
  const parts = await logParts(database.pool, { pageSize: 20_000 })
  await database.pool.query(
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     select uuidv7(), 1, now(), 'note', 'test', '{}', '', '', '', sha256(n::text::bytea) from generate_series(1, 66000) n`,
  )
  const some = await insertChain(database.pool, 5)
  await expect
    .poll(async () => {
      await extendLog(parts)
      return (await readLogHead(database.pool)).size
    })
    .toBe(66_005)
  const checkpoints = await listCheckpoints(database.pool, 0, 100)
  expect(checkpoints.map(({ size }) => size).slice(0, 3)).toEqual([20_000, 40_000, 60_000])
  const proof = (await readLogProof(database.pool, some))!
  const { root, size } = readCheckpoint(readNote(proof.checkpoint.note)!.text)!
  const hashes = await storedHashes('l.leaf')
  expect(rootOf(hashes)).toEqual(root)
  expect(proof.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  for (const { leaf, path } of proof.events) {
    const steps = path.map(step => Buffer.from(step, 'hex'))
    expect(await isIncluded({ leaf: hashes[leaf]!, place: leaf, size, path: steps, root }, nodeTools)).toBe(true)
  }
  for (const older of checkpoints) {
    const [steps] = await buildProofs(database.pool, [planConsistency(older.size, size)])
    expect(verifyConsistency(older.size, older.root, size, root, steps!)).toBe(true)
  }
})

describe('which checkpoint proves a notification', () => {
  test('none, then the one that covers some of its events, then the oldest that covers all, then the oldest with a time-stamp', async () => {
    const parts = await logParts(database.pool)
    const id = await insertChain(database.pool, 2)
    expect(await readLogProof(database.pool, id)).toBeNull()
    await extendTo({ ...parts, checkpointEveryMs: 0 }, 2)
    await database.pool.query(
      `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
       select notification_id, 3, at, type, source, data, salt, commit, prev, sha256('3') from event where notification_id = $1 and seq = 2`,
      [id],
    )
    // In the log, and in no checkpoint yet.
    await extendTo({ ...parts, checkpointEveryMs: 3_600_000 }, 3)
    expect(await readLogProof(database.pool, id)).toMatchObject({ checkpoint: { size: 2 }, events: [{ seq: 1 }, { seq: 2 }] })
    await extendLog(parts)
    for (let size = 4; size <= 6; size++) {
      await insertChain(database.pool, 1)
      await extendTo(parts, size)
    }
    expect(await readLogProof(database.pool, id)).toMatchObject({ checkpoint: { size: 3, timeStamps: [] } })
    const stamp = { authority: 'https://tsa.example.com', token: Buffer.of(1), at: new Date() }
    await insertTimeStamp(database.pool, { ...stamp, size: 6 })
    await insertTimeStamp(database.pool, { ...stamp, size: 5 })
    const proof = (await readLogProof(database.pool, id))!
    expect(proof.checkpoint).toMatchObject({ size: 5, timeStamps: [stamp] })
    expect(proof.events.map(({ seq }) => seq)).toEqual([1, 2, 3])
  })
})

describe('interrupted', () => {
  test.each(['lock-log-head', 'append-leaves', 'insert-log-nodes', 'move-log-head', 'insert-checkpoint'])(
    'after %s, the next node goes on as if nothing had happened',
    async statement => {
      const parts = await logParts(database.pool, { pageSize: 200 })
      await insertChain(database.pool, 150)
      await extendTo(parts, 150)
      await insertChain(database.pool, 250)
      const dying = openPool({ url: database.url, size: 1, onError: () => {} })
      afterStatement(dying, statement, () => Promise.reject(new Error('killed')))
      // Nothing is new while an open transaction of another test file holds readers back.
      const killed = () =>
        extendLog({ ...parts, pool: dying }).then(
          () => false,
          () => true,
        )
      await expect.poll(killed).toBe(true)
      await dying.end()
      await extendTo(parts, 400)
      const newest = (await findNewestCheckpoint(database.pool))!
      expect(newest).toMatchObject({ size: 400, root: rootOf(await storedHashes('l.leaf')) })
      expect(await storedHashes('e.transaction_id, e.notification_id, e.seq')).toEqual(await storedHashes('l.leaf'))
    },
  )
})

test('while another node appends, nobody waits; each event becomes one leaf whoever appends', async () => {
  const parts = await logParts(database.pool)
  await insertChain(database.pool, 3)
  const other = await holdRows(database.url, 'select from log_head for update')
  await extendLog(parts)
  expect((await readLogHead(database.pool)).size).toBe(0)
  await other.release()
  for (let index = 0; index < 10; index++) {
    await Promise.all([insertChain(database.pool, 2), extendLog(parts), extendLog(parts), extendLog(parts)])
  }
  await extendTo(parts, 23)
  expect((await findNewestCheckpoint(database.pool))!.root).toEqual(rootOf(await storedHashes('l.leaf')))
})

describe('a dump that was restored on another server', () => {
  test('the log waits while events have ids of the other server, then goes on and takes each event once', async () => {
    const parts = await logParts(database.pool)
    await insertChain(database.pool, 4)
    await extendTo(parts, 4)
    await database.asOwner("update event set transaction_id = '9000000000000'")
    await database.tamper("update log_head set transaction_id = '9000000000000', server = 1")
    const later = await insertChain(database.pool, 2)
    await expect(extendLog(parts)).rejects.toThrow(ForeignEvents)
    await database.asOwner("update event set transaction_id = pg_current_xact_id() where transaction_id = '9000000000000'")
    await extendTo(parts, 6)
    expect((await readLogProof(database.pool, later))!.events.map(({ leaf }) => leaf)).toEqual([4, 5])
    await insertChain(database.pool, 1)
    await extendTo(parts, 7)
  })

  test('also where the new server has given out more ids than the old one', async () => {
    const parts = await logParts(database.pool)
    await insertChain(database.pool, 4)
    await extendTo(parts, 4)
    // The position of the old server lies after what the new server's next transactions write.
    await insertChain(database.pool, 2)
    await database.tamper('update log_head set server = 1, transaction_id = (select max(transaction_id) from event), seq = 1000')
    await extendTo(parts, 6)
  })
})

test('the log is finished once it has every event, and not while an open transaction holds it back', async () => {
  const parts = await logParts(database.pool)
  await transaction(database.pool, async db => {
    await db.query('select pg_current_xact_id()')
    await insertChain(database.pool, 2)
    expect(await finishLog(parts, 1)).toBe(false)
  })
  await expect.poll(() => finishLog(parts, 1)).toBe(true)
  expect((await readLogHead(database.pool)).size).toBe(2)
})
