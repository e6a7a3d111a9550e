import { execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { prepareDatabase } from '../../src/app/database/database.js'
import { MEMORY_FILE } from '../../src/app/database/database-memory.js'
import { DatabaseWatch } from '../../src/app/database/database-watch.js'
import { openEmbedded } from '../../src/store/embedded/server.js'
import { readHomeServer } from '../../src/store/home-server.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { initialisedDataFolder } from '../support/database/data-folder.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { createAccount, startGateway, testKeys } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

/** A real server that ends a recovery, as a promoted standby does: it writes on another timeline from then on. */
test('a server that was recovered to its end goes on; an older copy of it, or one that no node remembers, does not', async () => {
  const data = initialisedDataFolder()
  const database = join(data, 'postgres')
  const open = async <T>(work: (pool: Pool) => Promise<T>): Promise<T> => {
    const server = await openEmbedded(data, true, { durable: false })
    const pool = openPool({ url: server.url, size: 4, onError: () => {} })
    try {
      // A server that recovers takes connections a moment before it takes writes.
      await expect
        .poll(async () => (await pool.query('select pg_is_in_recovery() as is')).rows, { timeout: 30_000 })
        .toEqual([{ is: false }])
      await prepareDatabase(server, () => testKeys)
      return await work(pool)
    } finally {
      await pool.end()
      await server.close()
    }
  }
  const watch = (pool: Pool, memoryFile: string | null = join(data, MEMORY_FILE)): DatabaseWatch =>
    new DatabaseWatch({
      pool,
      clock: Date.now,
      log: pino({ level: 'silent' }),
      memoryFile,
      isEmbedded: true,
      archives: [],
      graceMs: 0,
    })
  const recover = (): void => {
    const signal = join(database, 'recovery.signal')
    writeFileSync(signal, '')
    const { uid, gid } = statSync(database)
    chownSync(signal, uid, gid)
  }
  const found = async (pool: Pool) => ({
    timeline: (await readHomeServer(pool)).current.timeline,
    isConfirmed: (await readHomeServer(pool)).isConfirmed,
    causes: (await pool.query('select cause from restoration order by id')).rows.map(({ cause }) => cause),
    states: (await pool.query('select state from delivery order by notification_id')).rows.map(({ state }) => state),
  })
  let sent = 0
  const sendOne = async (pool: Pool): Promise<void> => {
    const gateway = await startGateway(pool)
    const { token } = await createAccount(pool)
    await send(gateway.url, token, validSend)
    await extendTo(await logParts(pool), ++sent)
    await gateway.close()
  }
  await open(async pool => {
    await sendOne(pool)
    await watch(pool).close(true)
  })
  appendFileSync(join(database, 'postgresql.conf'), "restore_command = 'false'\n")
  execFileSync('cp', ['-a', database, `${database}-antigo`])

  recover()
  await open(async pool => {
    expect(await found(pool)).toMatchObject({ timeline: 2, isConfirmed: false })
    await watch(pool).look()
    expect(await found(pool)).toEqual({ timeline: 2, isConfirmed: true, causes: [], states: ['queued'] })
    await sendOne(pool)
    await watch(pool).close(true)
  })

  rmSync(database, { recursive: true })
  execFileSync('cp', ['-a', `${database}-antigo`, database])
  recover()
  await open(async pool => {
    await watch(pool).look()
    expect(await found(pool)).toEqual({ timeline: 2, isConfirmed: true, causes: ['behind'], states: ['unresolved'] })
  })
  recover()
  await open(async pool => {
    await watch(pool, null).look()
    expect(await found(pool)).toMatchObject({ timeline: 3, isConfirmed: true, causes: ['behind', 'timeline'] })
  })
})
