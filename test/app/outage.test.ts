import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../simulator/simulator.js'
import { readConfig } from '../../src/app/config.js'
import { claimKeys, openRolePool, reportTo, warnAsynchronous } from '../../src/app/database/database.js'
import { examine } from '../../src/app/doctor.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { readBlob } from '../../src/store/files/read.js'
import { storeFile } from '../../src/store/files/write.js'
import { databaseForTest } from '../support/database/database.js'
import { relayForTest } from '../support/database/database-relay.js'
import { fileOf } from '../support/files.js'
import { createAccount, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { QUICK_TIMING } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'

test('while the database is away, sends are 503, the worker waits and goes on by itself, and the log has two lines a process', async () => {
  const database = await databaseForTest()
  const relay = await relayForTest(database)
  const simulator = await createSimulator()
  onTestFinished(() => simulator.close())
  const env = { SIMULATOR: 'on', SIMULATOR_URL: simulator.url, SIMULATOR_KEY: simulator.key, DATABASE_POOL: '4' }
  const config = readConfig(env)
  const lines: Record<'api' | 'worker', string[]> = { api: [], worker: [] }
  const others: string[] = []
  const open = (role: 'api' | 'worker') => {
    // On a busy machine a connection is not free in time. That is not an outage, and is told as what it is.
    const write = (line: string): void => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { type: string } }
      if (msg.startsWith('the database is')) lines[role].push(msg.split(':')[0]!)
      else if (err?.type !== 'StoreBusy') others.push(line)
    }
    const log = pino({ level: 'warn' }, { write })
    const pool = openRolePool(config, relay.url, log)
    onTestFinished(() => pool.end())
    return { log, pool }
  }
  const api = open('api')
  const gateway = await gatewayForTest(api.pool, env, { log: api.log })
  const { token } = await createAccount(database.pool)
  const { log, pool } = open('worker')
  const worker = await startWorker({ config, keys: testKeys, pool, databaseUrl: relay.url, log, timing: QUICK_TIMING })
  onTestFinished(() => worker.close())
  const sendOne = () => send(gateway.url, token, { ...validSend, to: 'entregue@simulador.test' })
  const sent = async () => (await database.pool.query('select from delivery where sent_at is not null')).rowCount
  expect((await sendOne()).status).toBe(200)
  await expect.poll(sent).toBe(1)

  relay.goAway()
  // A statement that was given to a connection before its end was noticed has an unknown outcome: that would be 504.
  await expect.poll(() => api.pool.idleCount).toBe(0)
  const answers = await Promise.all(Array.from({ length: 20 }, sendOne))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(503))
  await expect.poll(() => lines.worker).toEqual(['the database is lost'])
  relay.comeBack()
  await expect.poll(async () => (await sendOne()).status).toBe(200)
  await expect.poll(sent).toBeGreaterThan(1)
  await expect
    .poll(() => lines)
    .toEqual({
      api: ['the database is lost', 'the database is back'],
      worker: ['the database is lost', 'the database is back'],
    })
  expect(others).toEqual([])
})

test('while the place of the files is away, the log has a line when it is lost and one when it is back, whatever fails meanwhile', async () => {
  const database = await databaseForTest()
  const path = mkdtempSync(join(tmpdir(), 'carteiro-away-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const place = join(path, 'files')
  const lines: string[] = []
  const log = pino(
    { level: 'warn' },
    { write: line => void lines.push((JSON.parse(line) as { msg: string }).msg.split(':')[0]!) },
  )
  const pool = openRolePool(readConfig({ FILES_URL: `file://${place}` }), database.url, log)
  onTestFinished(() => pool.end())
  await claimKeys(pool, testKeys)
  const { bytes, sha256 } = fileOf()
  const store = () => storeFile(pool, { bytes, sha256 }).catch(reportTo(log, 'a letter could not be made'))
  for (let failed = 0; failed < 3; failed++) await store()
  expect(lines).toEqual(['the files are lost'])
  mkdirSync(place)
  await store()
  await store()
  expect(lines).toEqual(['the files are lost', 'the files are back'])
  // A process that does not know the place waits for nothing that comes back by itself.
  await readBlob(database.pool, sha256).catch(reportTo(log, 'a recording could not be read'))
  expect(lines.slice(2)).toEqual(['a recording could not be read'])
})

test('several servers without synchronous replication are warned of at the start and by the doctor, with the cure', async () => {
  const database = await databaseForTest()
  const relay = await relayForTest(database)
  const { username, host, pathname } = new URL(relay.url)
  const config = readConfig({ SIMULATOR: 'off' })
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: line => void lines.push((JSON.parse(line) as { msg: string }).msg) })
  const findingOn = async (url: string) => {
    const pool = openRolePool(config, url, log)
    onTestFinished(() => pool.end())
    await warnAsynchronous(pool, log)
    for await (const finding of examine({ config, keys: testKeys, pool })) if (finding.name === 'Réplicas') return finding
    return null
  }
  expect(await findingOn(relay.url)).toMatchObject({ state: 'ok', advice: null })
  expect(lines).toEqual([])
  const several = await findingOn(`postgresql://${username}@127.0.0.1:1,${host}${pathname}`)
  expect(several).toMatchObject({ state: 'warn', advice: expect.stringContaining('synchronous_standby_names') })
  expect(lines).toEqual([expect.stringMatching(/vários servidores.*assíncrona.*synchronous_standby_names/)])
})
