import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../simulator/simulator.js'
import { readConfig } from '../../src/app/config.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'

/** Two carriers of different kinds, as an operator configures them: the first is unreachable, the second takes its messages. */
const SECRET = 'segredo-da-assinatura'
let database: TestDatabase
let simulator: Simulator
let gateway: Gateway
let worker: { close(): Promise<void> }
let account: TestAccount
let ids: string[]

beforeAll(async () => {
  database = await createDatabase()
  simulator = await createSimulator()
  const carriers = (
    await request(`${simulator.url}/simulator/carriers`, { headers: { authorization: `Bearer ${simulator.key}` } })
  ).body as Record<string, string>
  const zenvia = new URL(carriers['sms-zenvia']!)
  zenvia.searchParams.set('secret', SECRET)
  // Port 9 is discard: nobody listens.
  const env = {
    SMS_URL: `smpp://usuario:senha@127.0.0.1:9,${zenvia}`,
    SIMULATOR: 'on',
    SIMULATOR_URL: simulator.url,
    SIMULATOR_KEY: simulator.key,
  }
  gateway = await startGateway(database.pool, env)
  // At any hour of the day.
  account = await createAccount(database.pool, { settings: { 'contact.rules': false } })
  worker = await startWorker({
    config: readConfig({ ...env, PUBLIC_URL: gateway.url }),
    keys: testKeys,
    pool: database.pool,
    databaseUrl: database.url,
    log: pino({ level: 'silent' }),
  })
  ids = await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const sms = { number: `1198700000${n}`, typeSend: '2', customMessage: `Aviso ${n}` }
      return ((await send(gateway.url, account.token, { ...validSend, to: undefined, sms })).body as { idEmail: string }).idEmail
    }),
  )
})

afterAll(async () => {
  await worker.close()
  await gateway.close()
  await simulator.close()
  await database.drop()
})

const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/sms/${id}`, { token: account.token })).body as Record<string, unknown>

const callback = (body: object, headers: Record<string, string>) =>
  request(`${gateway.url}/callbacks/zenvia`, { method: 'POST', body, headers })

const messageIdOf = async (id: string): Promise<string> =>
  (await database.pool.query('select reference from carrier_reference where notification_id = $1', [id])).rows[0].reference

test('every SMS leaves by the second carrier, once, without a try at the first', async () => {
  for (const id of ids) await expect.poll(async () => (await statusOf(id)).description).toBe('Enviado')
  const { rows } = await database.pool.query('select distinct carrier, attempt from delivery')
  expect(rows).toEqual([{ carrier: expect.stringMatching(/^zenvia:127\.0\.0\.1\/[0-9a-f]{8}$/), attempt: 1 }])
  const log = (await request(`${simulator.url}/simulator/log`)).body as { channel: string; to: string }[]
  expect(log.map(({ to }) => to).sort()).toEqual(ids.map((_, n) => `+551198700000${n}`))
})

test('a callback that is not Zenvia’s is 401 and changes nothing', async () => {
  const body = { type: 'MESSAGE_STATUS', messageId: await messageIdOf(ids[0]!), messageStatus: { code: 'DELIVERED' } }
  for (const headers of [{}, { 'x-carteiro-secret': 'segredo-da-assinaturb' }, { authorization: account.token }])
    expect(await callback(body, headers as Record<string, string>)).toMatchObject({ status: 401 })
  expect((await statusOf(ids[0]!)).description).toBe('Enviado')
})

test('Zenvia’s own, a hundred times at once, makes it delivered once', async () => {
  const body = { type: 'MESSAGE_STATUS', messageId: await messageIdOf(ids[0]!), messageStatus: { code: 'DELIVERED' } }
  const answers = await Promise.all(Array.from({ length: 100 }, () => callback(body, { 'x-carteiro-secret': SECRET })))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await statusOf(ids[0]!)).description).toBe('Entregue')
  const { rows } = await database.pool.query("select from event where notification_id = $1 and type = 'delivered'", [ids[0]])
  expect(rows).toHaveLength(1)
})

test('what a simulated carrier says of a number says nothing of the real one’s messages', async () => {
  const body = {
    type: 'MESSAGE',
    message: { id: 'm', from: '5511987000001', direction: 'IN', contents: [{ type: 'text', text: 'SAIR' }] },
  }
  const answer = await request(`${gateway.url}/callbacks/simulator/zenvia`, {
    method: 'POST',
    body,
    headers: { 'x-carteiro-secret': simulatorSecret(testKeys.simulator, 'zenvia') },
  })
  expect(answer.status).toBe(200)
  expect(await statusOf(ids[1]!)).toMatchObject({ description: 'Enviado', answered: [] })
  expect((await database.pool.query('select from suppression')).rows).toEqual([])
})

test('beside real carriers, a channel without one waits: the simulator takes only what test tokens send', async () => {
  const tester = await createAccount(database.pool, { mode: 'test' })
  const email = async ({ token }: TestAccount, to: string): Promise<() => Promise<unknown>> => {
    const { idEmail } = (await send(gateway.url, token, { ...validSend, to })).body as { idEmail: string }
    return async () => ((await request(`${gateway.url}/gw/email/${idEmail}`, { token })).body as { dateSend: unknown }).dateSend
  }
  const live = await email(account, 'entregue+vivo@simulador.test')
  const test = await email(tester, 'entregue+teste@simulador.test')
  await expect.poll(test).not.toBe('')
  expect(await live()).toBe('')
  const { rows } = await database.pool.query("select state, attempt from delivery where channel = 'email' and attempt = 0")
  expect(rows).toEqual([{ state: 'queued', attempt: 0 }])
})

test('a simulator that is away keeps no live message waiting', async () => {
  const other = await createDatabase()
  const carriers = (
    await request(`${simulator.url}/simulator/carriers`, { headers: { authorization: `Bearer ${simulator.key}` } })
  ).body as Record<string, string>
  const env = { SMS_URL: carriers.sms!, SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:9' }
  const server = await startGateway(other.pool, env)
  const config = readConfig({ ...env, PUBLIC_URL: server.url })
  const log = pino({ level: 'silent' })
  const alone = await startWorker({ config, keys: testKeys, pool: other.pool, databaseUrl: other.url, log })
  try {
    const { token } = await createAccount(other.pool, { settings: { 'contact.rules': false } })
    const sms = { number: '11987000099', typeSend: '2', customMessage: 'Aviso' }
    const { idEmail } = (await send(server.url, token, { ...validSend, to: undefined, sms })).body as { idEmail: string }
    const sent = async () =>
      ((await request(`${server.url}/gw/sms/${idEmail}`, { token })).body as { dateSent: unknown }).dateSent
    await expect.poll(sent).not.toBe('')
  } finally {
    await alone.close()
    await server.close()
    await other.drop()
  }
})
