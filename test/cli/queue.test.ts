import { expect, onTestFinished, test, vi } from 'vitest'
import { refuseAudit } from '../support/database/audit.js'
import { databaseForTest } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, startGateway } from '../support/gateway/gateway.js'
import { refused, ScriptedCarrier, startTestWorker } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'

test('queue retry: what a carrier refused since a moment goes again, and who asked for it is kept', async () => {
  const database = await databaseForTest()
  const { url, pool } = database
  const account = await createAccount(pool, { name: 'acme' })
  const gateway = await startGateway(pool)
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('permanent')))
  const worker = startTestWorker(pool, [{ name: 'relay', carrier }])
  const { body } = await send(gateway.url, account.token, validSend)
  const states = async () => (await pool.query("select state, ordinal, failure from delivery where channel = 'email'")).rows
  await expect.poll(states).toEqual([{ state: 'done', ordinal: 1, failure: 'rejected' }])
  await worker.stop()
  await gateway.close()

  const retry = (...args: string[]) => runCommand(['queue', 'retry', '--channel', 'email', '--json', ...args], url)
  expect((await retry('--carrier', 'relay')).stderr).toContain('Informe o idEmail, ou --carrier e --since.')
  expect((await retry('--carrier', 'relay', '--since', 'ontem')).stderr).toContain('ISO 8601')
  const since = ['--carrier', 'relay', '--since', '2020-01-01T00:00:00-03:00']
  expect(JSON.parse((await retry(...since, '--dry-run')).stdout)).toMatchObject({ found: 1, retried: 0 })
  // What cannot be put on record is not done.
  const { idEmail } = body as { idEmail: string }
  const refuses = await refuseAudit(database)
  for (const order of [since, [idEmail]]) expect((await retry(...order)).status).toBe(1)
  await refuses.end()
  expect(await states()).toEqual([{ state: 'done', ordinal: 1, failure: 'rejected' }])
  expect(JSON.parse((await retry(...since, '--reason', 'Motivo')).stdout)).toMatchObject({
    carrier: 'relay',
    found: 1,
    retried: 1,
  })
  expect(await states()).toEqual([{ state: 'queued', ordinal: 2, failure: null }])
  const { rows } = await pool.query("select subject, detail from audit where action = 'queue retry'")
  expect(rows).toMatchObject([{ subject: 'relay', detail: { channel: 'email', reason: 'Motivo', found: 1 } }])
})

/** An address on which no server listens. */
const NO_DATABASE = 'postgresql://nobody@127.0.0.1:1/none'

test.each([
  [['--dry-run'], '--dry-run'],
  [['--carrier', 'smtp', '--reason', 'x'], '--carrier, --reason'],
  [['--since', '2020-01-01T00:00:00-03:00'], '--since'],
])('a retry of one notification with %j is refused: what would be ignored is named', async (more, named) => {
  const id = '01900000-0000-7000-8000-000000000000'
  const { status, stderr } = await runCommand(['retry', id, '--channel', 'email', ...more], NO_DATABASE)
  expect([status, stderr]).toEqual([1, expect.stringContaining(`${named}: valem só sem idEmail`)])
})

test('a decision made on a machine whose clock is a day ahead is dated by the database', async () => {
  const { url, pool } = await databaseForTest()
  const account = await createAccount(pool, { name: 'acme' })
  const gateway = await startGateway(pool)
  const worker = startTestWorker(pool, [{ carrier: new ScriptedCarrier(() => Promise.reject(refused('permanent'))) }])
  const { idEmail } = (await send(gateway.url, account.token, validSend)).body as { idEmail: string }
  const typesOf = async () =>
    (await pool.query('select type, at <= now() as past from event where notification_id = $1 order by seq', [idEmail])).rows
  await expect.poll(typesOf).toMatchObject([{ type: 'accepted' }, { type: 'failed' }])
  await worker.stop()
  await gateway.close()
  const clock = Date.now
  const ahead = vi.spyOn(Date, 'now').mockImplementation(() => clock() + 86_400_000)
  onTestFinished(() => ahead.mockRestore())
  const { stderr } = await runCommand(['queue', 'retry', idEmail, '--channel', 'email', '--json'], url)
  ahead.mockRestore()
  expect(stderr).toBe('')
  // A date of tomorrow would hold every later date of this notification there.
  expect(await typesOf()).toMatchObject([{ type: 'accepted' }, { type: 'failed' }, { type: 'revived', past: true }])
})
