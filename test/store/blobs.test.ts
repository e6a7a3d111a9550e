import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { channelModules } from '../../src/channels/registry.js'
import { deleteUnusedBlobs, storeBlobs } from '../../src/store/files/blobs.js'
import { type Queryable, transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'

const USES = channelModules.flatMap(({ blobUses = [] }) => blobUses)

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

beforeEach(async () => {
  await database.pool.query('delete from blob')
})

const fileOf = (text: string) => {
  const bytes = new TextEncoder().encode(text)
  return { name: `${text}.txt`, bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Stored so long ago that only a reference can keep them. */
async function storeOld(...texts: string[]): Promise<string[]> {
  const files = texts.map(fileOf)
  await storeBlobs(database.pool, files)
  await database.pool.query("update blob set touched_at = now() - interval '25 hours'")
  return files.map(({ sha256 }) => sha256)
}

const left = async (): Promise<string[]> =>
  (await database.pool.query<{ text: string }>("select convert_from(bytes, 'utf8') as text from blob order by text")).rows.map(
    row => row.text,
  )

test('an unreferenced blob is deleted after a day; referenced and recent ones stay', async () => {
  const [attached, printed, recorded] = await storeOld('attached', 'printed', 'recorded', 'unused', 'unused too')
  await storeBlobs(database.pool, [fileOf('fresh')])
  const sha256 = (hash: string | undefined): Buffer => Buffer.from(hash!, 'hex')
  const { pool } = database
  await pool.query('select ensure_month(now())')
  const id = (
    await pool.query("select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid as id")
  ).rows[0].id
  await pool.query("insert into attachment (notification_id, ordinal, name, sha256, size) values ($1, 1, 'a', $2, 8)", [
    id,
    sha256(attached),
  ])
  await pool.query("insert into letter (notification_id, ordinal, sha256, pages, sheet) values ($1, 1, $2, 1, '{}')", [
    id,
    sha256(printed),
  ])
  await pool.query(
    "insert into recording (carrier, name, notification_id, ordinal, state, sha256) values ('twilio', $3, $1, 1, 'kept', $2)",
    [id, sha256(recorded), randomUUID()],
  )
  expect(await deleteUnusedBlobs(database.pool, USES)).toBe(2)
  expect(await left()).toEqual(['attached', 'fresh', 'printed', 'recorded'])
})

test('a long backlog is deleted in batches, each in its own statement', async () => {
  const texts = Array.from({ length: 11 }, (_, n) => `file ${n}`)
  await storeOld(...texts)
  const counted: number[] = []
  const counting: Queryable = {
    async query(query, values) {
      const before = (await left()).length
      const result = await database.pool.query(query as string, values)
      counted.push(before - (await left()).length)
      return result as never
    },
  }
  expect(await deleteUnusedBlobs(counting, USES, undefined, 4)).toBe(11)
  expect(counted).toEqual([4, 4, 3])
  expect(await left()).toEqual([])
})

test('the sweep stops when it is aborted', async () => {
  await storeOld('one', 'two')
  expect(await deleteUnusedBlobs(database.pool, USES, AbortSignal.abort())).toBe(0)
  expect(await left()).toEqual(['one', 'two'])
})

test('a file that is being used again at the same moment is not deleted', async () => {
  await storeOld('again', 'unused')
  let swept: Promise<number> | undefined
  await transaction(database.pool, async db => {
    await storeBlobs(db, [fileOf('again')])
    swept = deleteUnusedBlobs(database.pool, USES)
    // The sweep waits for the row: what was true when it began is no longer.
    const isWaiting = async (): Promise<boolean> =>
      (await database.pool.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
        .rowCount === 1
    await expect.poll(isWaiting).toBe(true)
  })
  expect(await swept).toBe(1)
  expect(await left()).toEqual(['again'])
})
