import { expect, onTestFinished, test } from 'vitest'
import { openPool } from '../../src/store/postgres.js'
import { databaseForTest } from '../support/database.js'

/** The level at which our connections commit on a database that was set to another one. */
async function levelOn(given: string): Promise<string> {
  const { url, asOwner } = await databaseForTest()
  await asOwner(`do $$ begin execute format('alter database %I set synchronous_commit = ${given}', current_database()); end $$`)
  const pool = openPool({ url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  return (await pool.query<{ level: string }>("select current_setting('synchronous_commit') as level")).rows[0]!.level
}

test('a server, database or role that commits without waiting for the disk is overruled; stronger levels stay', async () => {
  expect(await Promise.all(['off', 'local', 'on', 'remote_write', 'remote_apply'].map(levelOn))).toEqual([
    'on',
    'on',
    'on',
    'remote_write',
    'remote_apply',
  ])
})
