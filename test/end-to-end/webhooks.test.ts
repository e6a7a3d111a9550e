import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorker } from '../../src/compose-worker.js'
import { readConfig } from '../../src/config.js'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../support/gateway.js'
import { type Receiver, startReceiver } from '../support/receiver.js'
import { send, validSend } from '../support/requests.js'
import { createWebhook } from '../support/webhooks.js'

/** From POST to a verified webhook: gateway, worker, simulated carrier and a sender's server, each on its own port. */
let database: TestDatabase
let simulator: Simulator
let gateway: Gateway
let worker: { close(): Promise<void> }
let receiver: Receiver
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  simulator = await createSimulator()
  const env = { SIMULATOR: 'on', SIMULATOR_URL: simulator.url }
  gateway = await startGateway(database.pool, env)
  account = await createAccount(database.pool)
  receiver = await startReceiver()
  worker = await startWorker({
    config: readConfig({ ...env, PUBLIC_URL: gateway.url }),
    keys: testKeys,
    pool: database.pool,
    databaseUrl: database.url,
    log: pino({ level: 'silent' }),
  })
})

afterAll(async () => {
  await worker.close()
  await gateway.close()
  await simulator.close()
  await receiver.close()
  await database.drop()
})

test('a send that is delivered and read, and the SMS that it makes needless, are told in order and verify', async () => {
  const { segredo } = await createWebhook(gateway.url, account.token, { url: receiver.url })
  const answer = await send(gateway.url, account.token, {
    ...validSend,
    to: 'lido@simulador.test',
    sms: { number: '11987654321' },
  })
  const { idEmail } = answer.body as { idEmail: string }
  const told = (channel: string) => receiver.got.filter(({ json }) => json.channel === channel).map(({ json }) => json.status)
  await expect.poll(() => told('email'), { timeout: 30_000 }).toEqual(['enviado', 'entregue', 'lido'])
  await expect.poll(() => told('sms'), { timeout: 30_000 }).toEqual(['cancelado'])
  for (const { body, headers } of receiver.got)
    expect(new Webhook(segredo).verify(body, headers)).toMatchObject({ notificationID: idEmail })
})

test('a bounce is told as a failure, with its reason in the record', async () => {
  const answer = await send(gateway.url, account.token, { ...validSend, to: 'devolvido@simulador.test' })
  const { idEmail } = answer.body as { idEmail: string }
  const failure = () => receiver.got.find(({ json }) => json.notificationID === idEmail && json.status === 'falhou')?.json
  await expect.poll(failure, { timeout: 30_000 }).toMatchObject({ payload: { error: true, description: 'Devolvido' } })
})
