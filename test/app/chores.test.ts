import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { claimKeys } from '../../src/app/database/database.js'
import { inTurns } from '../../src/app/worker/upkeep.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { databaseForTest } from '../support/database/database.js'
import { testKeys } from '../support/gateway/gateway.js'
import { temporaryFolder } from '../support/temporary-folder.js'

test('of a chore that is done for all, each worker asks whose turn it is; webhooks, batches and channels have such chores too', async () => {
  const { pool, url } = await databaseForTest()
  const config = readConfig({ SIMULATOR: 'off', DATABASE_URL: url, RECORDING_DAYS: '30' })
  const log = pino({ level: 'silent' })
  await claimKeys(pool, testKeys)
  const worker = await startWorker({ config, keys: testKeys, pool, databaseUrl: url, log })
  onTestFinished(() => worker.close())
  const turns = async (): Promise<string[]> =>
    (await pool.query<{ chore: string }>('select chore from chore_turn')).rows.map(({ chore }) => chore)
  await expect
    .poll(turns)
    .toEqual(
      expect.arrayContaining([
        ...['idempotency keys', 'terms of personal data', 'unused attachments'],
        ...['old webhooks', 'data of batches', 'forwarded replies', 'recordings at the end of their term', 'incomplete replies'],
        ...['overdue deliveries', 'unaccounted notifications'],
      ]),
    )
  // What takes due work by claims, and what a node remembers for itself, every node does.
  const everywhere = ['sending of batches', 'checking of batches', 'interrupted webhooks', 'replies to forward', 'ends of calls']
  expect((await turns()).filter(chore => everywhere.includes(chore) || chore === 'DKIM keys')).toEqual([])
})

test('a worker starts, and looks at all months, where the open ones cannot be found', async () => {
  const { pool, url, asOwner } = await databaseForTest()
  await asOwner(
    "create or replace function open_since() returns uuid language plpgsql as $$ begin raise exception 'too slow' using errcode = 'query_canceled'; end $$",
  )
  const config = readConfig({ SIMULATOR: 'off', DATABASE_URL: url })
  await claimKeys(pool, testKeys)
  const worker = await startWorker({ config, keys: testKeys, pool, databaseUrl: url, log: pino({ level: 'silent' }) })
  await worker.close()
})

test('a worker writes its sign of life from the first moment of its start, where it is told to', async () => {
  const { pool, url } = await databaseForTest()
  const file = join(temporaryFolder(), 'worker.alive')
  const config = readConfig({ SIMULATOR: 'off', DATABASE_URL: url, WORKER_ALIVE_FILE: file })
  await claimKeys(pool, testKeys)
  let release = (): void => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const { query } = pool
  pool.query = (async (...asked: unknown[]) => {
    await held
    return (query as (...args: unknown[]) => unknown).apply(pool, asked)
  }) as typeof pool.query
  const starting = startWorker({ config, keys: testKeys, pool, databaseUrl: url, log: pino({ level: 'silent' }) })
  await expect.poll(() => existsSync(file)).toBe(true)
  release()
  await (await starting).close()
})

test('a chore that is not done for all runs on every node', async () => {
  const { pool } = await databaseForTest()
  let runs = 0
  const node = () => inTurns(pool, [{ name: 'everywhere', everyMs: 60_000, run: async () => void runs++ }])[0]!
  await Promise.all([node().run(), node().run()])
  expect(runs).toBe(2)
})
