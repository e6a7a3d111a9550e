import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../simulator/simulator.js'
import { readConfig } from '../../src/app/config.js'
import { prepareDatabase } from '../../src/app/database/database.js'
import { openConsoleReads } from '../../src/app/database/replica.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { freePort } from '../../src/runtime/free-port.js'
import { serverUser } from '../../src/store/embedded/binaries.js'
import { openPool, queryValue } from '../../src/store/postgres.js'
import { databaseForTest, emptyDatabaseForTest, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { QUICK_TIMING } from '../support/gateway/lanes.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { needPrograms } from '../support/programs/needed-programs.js'
import { findProgram, untilListening } from '../support/programs/other-programs.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const PASSPHRASE = 'uma senha bem longa'

/** A real PgBouncer between the gateway and PostgreSQL. */
needPrograms('pgbouncer')

async function startPgBouncer(mode: 'session' | 'transaction' | 'statement', more = ''): Promise<(url: string) => string> {
  const folder = temporaryFolder()
  const port = await freePort()
  const user = serverUser()
  const sockets = decodeURIComponent(new URL(inject('server').url).hostname)
  const files = {
    'users.txt': ['carteiro', 'carteiro_app', 'postgres'].map(name => `"${name}" ""`).join('\n'),
    'pgbouncer.ini': `[databases]
* = host=${sockets} port=5432
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users.txt
pool_mode = ${mode}
default_pool_size = 40
${more}
`,
  }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text)
    if (user !== null) chownSync(join(folder, name), user.uid, user.gid)
  }
  chmodSync(folder, 0o755)
  const child = spawn(findProgram('pgbouncer')!, ['-q', join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    child.kill('SIGKILL')
    await ended
  })
  await untilListening(port)
  return url => {
    const { username, pathname } = new URL(url)
    return `postgresql://${username}@127.0.0.1:${port}${pathname}`
  }
}

const throughPool = ({ url, ownerUrl }: TestDatabase, via: (url: string) => string) => ({
  url: via(url),
  ownerUrl: via(ownerUrl),
})

test.each([
  ['transaction', ''],
  ['transaction', 'server_round_robin = 1'],
  ['transaction', 'ignore_startup_parameters = options,statement_timeout,lock_timeout'],
  ['statement', ''],
] as const)('PgBouncer in the mode %s is refused at the start, with the reason and the cure (%s)', async (mode, more) => {
  const via = await startPgBouncer(mode, more)
  const database = await databaseForTest()
  const refused = prepareDatabase(throughPool(database, via), () => testKeys)
  await expect(refused).rejects.toMatchObject({ name: 'OperatorError' })
  await expect(refused).rejects.toThrow(/PgBouncer.*modo de transação.*pool_mode=session.*DATABASE_URL/)
  // A restore as well, before its lock stays with a connection of the pooler.
  const { url, ownerUrl } = throughPool(database, via)
  const restored = await runCommand(['restore', 'copia'], url, {
    DATABASE_OWNER_URL: ownerUrl,
    CARTEIRO_BACKUP_PASSPHRASE: PASSPHRASE,
  })
  expect([restored.status, restored.stderr]).toEqual([1, expect.stringContaining('modo de transação')])
})

test('PgBouncer in the mode session: a backup is restored, though connections of the restore itself stay with the pooler', async () => {
  const via = await startPgBouncer('session')
  const [source, target] = [await databaseForTest(), await emptyDatabaseForTest()]
  await createAccount(source.pool, { name: 'acme' })
  const folder = temporaryFolder()
  const env = { CARTEIRO_BACKUP_PASSPHRASE: PASSPHRASE, CARTEIRO_DATA: folder }
  expect(await runCommand(['backup', join(folder, 'copia')], source.url, env)).toMatchObject({ status: 0 })
  const { url, ownerUrl } = throughPool(target, via)
  const restored = await runCommand(['restore', join(folder, 'copia'), '--json'], url, { ...env, DATABASE_OWNER_URL: ownerUrl })
  expect([restored.status, restored.stderr]).toEqual([0, ''])
  expect((await target.asOwner('select name from account')).rows).toEqual([{ name: 'acme' }])
})

test('PgBouncer in the mode transaction before a replica is refused at the start of an api; a replica that is away is not', async () => {
  const via = await startPgBouncer('transaction')
  const database = await databaseForTest()
  const log = pino({ level: 'silent' })
  const open = (url: string) => openConsoleReads({ ...readConfig({}), replicaUrl: url }, database.pool, log)
  await expect(open(via(database.url))).rejects.toThrow(/PgBouncer.*modo de transação.*DATABASE_REPLICA_URL/)
  const reads = await open(`postgresql://carteiro@127.0.0.1:${await freePort()}/carteiro`)
  expect(await reads.readList(db => queryValue(db, 'select 1'))).toBe(1)
  await reads.close()
})

test('PgBouncer in the mode session: migrations, sends, signals and deliveries work', async () => {
  const via = await startPgBouncer('session')
  const empty = await emptyDatabaseForTest()
  const migrated = await prepareDatabase(throughPool(empty, via), () => testKeys)
  expect(migrated.migrations.length).toBeGreaterThan(0)

  const database = await databaseForTest()
  const { url } = throughPool(database, via)
  await prepareDatabase({ url, ownerUrl: via(database.ownerUrl) }, () => testKeys)
  const pool = openPool({ url, size: 10, onError: () => {} })
  onTestFinished(() => pool.end())
  expect(await queryValue(pool, 'show statement_timeout')).toBe('10s')
  const simulator = await createSimulator()
  onTestFinished(() => simulator.close())
  const env = { SIMULATOR: 'on', SIMULATOR_URL: simulator.url, SIMULATOR_KEY: simulator.key }
  const gateway = await gatewayForTest(pool, env)
  const { token } = await createAccount(pool)
  const log = pino({ level: 'silent' })
  // A worker that hears of new work by its listener alone: the first poll comes too late.
  const timing = { ...QUICK_TIMING, pollMs: 600_000 }
  const worker = await startWorker({ config: readConfig(env), keys: testKeys, pool, databaseUrl: url, log, timing })
  onTestFinished(() => worker.close())
  for (let round = 0; round < 3; round++) {
    const { body } = await send(gateway.url, token, { ...validSend, to: `entregue+${round}@simulador.test` })
    const { idEmail } = body as { idEmail: string }
    const states = async () =>
      (await database.pool.query('select sent_at is not null as sent from delivery where notification_id = $1', [idEmail])).rows
    await expect.poll(states).toEqual([{ sent: true }])
    expect((await request(`${gateway.url}/gw/full/${idEmail}`, { token })).status).toBe(200)
  }
})
