import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { prepareDatabase } from '../../src/app/database/database.js'
import { openPool } from '../../src/store/postgres.js'
import { openReplicated } from '../drills/replicated.js'
import { consoleClient } from '../support/gateway/console.js'
import { createAccount, startGateway, testKeys } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

test('the lists of the console are read on the replica, and on the primary while the replica lags or is gone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-replica-'))
  chmodSync(folder, 0o755)
  const { primary, standby, database } = await openReplicated(folder, false)
  onTestFinished(async () => {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const urlOf = (port: number): string => `postgresql://carteiro@127.0.0.1:${port}/carteiro`
  await prepareDatabase({ url: database.url, ownerUrl: database.ownerUrl }, () => testKeys)
  const pool = openPool({ url: urlOf(primary.port), size: 5, onError: () => {} })
  const gateway = await startGateway(pool, { DATABASE_URL: urlOf(primary.port), DATABASE_REPLICA_URL: urlOf(standby.port) })
  onTestFinished(async () => {
    await gateway.close()
    await pool.end()
  })
  const { token } = await createAccount(pool)
  const { get } = await consoleClient(pool, gateway.url)
  const names = async (): Promise<string[]> =>
    ((await get('/notifications')).body as { rows: { recipientName: string }[] }).rows.map(row => row.recipientName)
  const scansOf = async (server: typeof primary): Promise<number> => {
    await server.query('select pg_stat_force_next_flush()')
    const [found] = await server.query<{ scans: number }>(
      "select sum(idx_scan)::int as scans from pg_stat_user_tables where relname like 'notification\\_2%'",
    )
    return found!.scans
  }
  await send(gateway.url, token, { ...validSend, nameTo: 'Ana' })
  await expect.poll(names).toEqual(['Ana'])
  const before = await scansOf(standby)
  await expect.poll(async () => (await names()) && (await scansOf(standby)) > before).toBe(true)
  expect((await get('/overview?period=24h')).status).toBe(200)

  await standby.query('select pg_wal_replay_pause()')
  await send(gateway.url, token, { ...validSend, nameTo: 'Bia' })
  // Old for a while, and then the primary answers.
  await expect.poll(names).toEqual(['Bia', 'Ana'])
  await standby.query('select pg_wal_replay_resume()')

  await standby.kill()
  await send(gateway.url, token, { ...validSend, nameTo: 'Caio' })
  await expect.poll(names).toEqual(['Caio', 'Bia', 'Ana'])
})
