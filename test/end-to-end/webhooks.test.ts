import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, type TestAccount } from '../support/gateway/gateway.js'
import { type Receiver, startReceiver } from '../support/gateway/receiver.js'
import { send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { createWebhook } from '../support/gateway/webhooks.js'

/** From POST to a verified webhook: gateway, worker, simulated carrier and a sender's server, each on its own port. */
let database: TestDatabase
let gateway: Gateway
let receiver: Receiver
let stack: Stack
let account: TestAccount

beforeAll(async () => {
  stack = await startStack()
  database = stack.database
  gateway = stack.gateway
  account = await createAccount(database.pool)
  receiver = await startReceiver()
})

afterAll(async () => {
  await stack.close()
  await receiver.close()
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
  await expect.poll(() => told('email')).toEqual(['enviado', 'entregue', 'lido'])
  await expect.poll(() => told('sms')).toEqual(['cancelado'])
  for (const { body, headers } of receiver.got)
    expect(new Webhook(segredo).verify(body, headers)).toMatchObject({ notificationID: idEmail })
})

test('a bounce is told as a failure, with its reason in the record', async () => {
  const answer = await send(gateway.url, account.token, { ...validSend, to: 'devolvido@simulador.test' })
  const { idEmail } = answer.body as { idEmail: string }
  const failure = () => receiver.got.find(({ json }) => json.notificationID === idEmail && json.status === 'falhou')?.json
  await expect.poll(failure).toMatchObject({ payload: { error: true, description: 'Devolvido' } })
})
