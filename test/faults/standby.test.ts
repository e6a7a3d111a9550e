import { expect, onTestFinished, test } from 'vitest'
import { acceptStore } from '../../src/app/accept-store.js'
import { prepareDatabase } from '../../src/app/database/database.js'
import { openEmbedded } from '../../src/store/embedded/server.js'
import { openPool } from '../../src/store/postgres.js'
import { isStandbyLost } from '../../src/store/standby.js'
import { initialisedDataFolder } from '../support/database/data-folder.js'
import { poolForTest } from '../support/database/database.js'
import { createAccount, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'

/** A real server whose synchronous standby is gone: commits wait, and are done all the same once somebody ends the wait. */
test('with its synchronous standby lost, a gateway accepts nothing, and tells the truth about what it had begun', async () => {
  const server = await openEmbedded(initialisedDataFolder(), true, { durable: false })
  onTestFinished(() => server.close())
  await prepareDatabase(server, () => testKeys)
  const admin = poolForTest({ connectionString: server.adminUrl, max: 1 })
  const pool = openPool({ url: server.url, size: 4, onError: () => {} })
  const impatient = poolForTest({ connectionString: server.url, max: 4, query_timeout: 5_000 })
  onTestFinished(() => pool.end())
  const gateway = await gatewayForTest(pool)
  const { token } = await createAccount(pool)
  // What a gateway is that has not noticed the loss yet.
  const late = await gatewayForTest(impatient, {}, { store: { ...acceptStore(impatient), isStandbyLost: async () => false } })

  const name = async (standbys: string): Promise<void> => {
    await admin.query(`alter system set synchronous_standby_names = '${standbys}'`)
    await admin.query('select pg_reload_conf()')
  }
  const waiting = async (): Promise<number[]> =>
    (await admin.query<{ pid: number }>("select pid from pg_stat_activity where wait_event = 'SyncRep'")).rows.map(row => row.pid)
  const found = async (id: string): Promise<number> => (await request(`${gateway.url}/gw/full/${id}`, { token })).status
  const ready = async (): Promise<number> => (await request(`${gateway.url}/readyz`)).status
  const sendTo = ({ url }: { url: string }, headers: Record<string, string> = {}) => send(url, token, validSend, headers)

  expect([await isStandbyLost(pool), await ready(), (await sendTo(gateway)).status]).toEqual([false, 200, 200])
  // Its share of the account's budget is leased: to lease more is a write, too.
  for (let round = 0; round < 5; round++) expect((await sendTo(late)).status).toBe(200)
  await name('outra')
  await expect.poll(() => isStandbyLost(pool)).toBe(true)

  // Noticed: refused before anything is written.
  await expect.poll(ready).toBe(503)
  const refused = await sendTo(gateway)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  expect((refused.body as Error).message).toContain('não foi gravado')
  expect(await waiting()).toEqual([])

  // Not noticed: nobody can know, and that is the answer.
  const unknown = await sendTo(late, { 'idempotency-key': 'chave' })
  expect(unknown.status).toBe(504)
  const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec((unknown.body as Error).message)![0]
  expect(await found(id)).toBe(404)

  // A session that an operator ends while it waits has committed here, although its client is only cut off.
  const ended = sendTo(late)
  await expect.poll(async () => (await waiting()).length).toBe(2)
  await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
  const answer = await ended
  expect(answer.status).toBe(200)
  expect(await found((answer.body as { idEmail: string }).idEmail)).toBe(200)

  // The first one was ended, too: it is there, under the id that its client was given.
  expect(await found(id)).toBe(200)
  await name('')
  await expect.poll(ready).toBe(200)
  const repeated = await sendTo(gateway, { 'idempotency-key': 'chave' })
  expect([repeated.status, repeated.body]).toEqual([200, { idEmail: id }])
})
