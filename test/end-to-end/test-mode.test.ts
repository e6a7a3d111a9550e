import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Mode } from '../../src/domain/access/token.js'
import { createAccount, issueToken, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { filled, visit } from '../support/gateway/visitor.js'

/** What simulated recipients do to test sends, and what it means for the live sends of the same account to the same contacts. */
let stack: Stack
let account: TestAccount
let tokens: Record<Mode, string>

beforeAll(async () => {
  stack = await startStack()
  account = await createAccount(stack.database.pool)
  tokens = { live: account.token, test: (await issueToken(stack.database.pool, account.id, { mode: 'test' })).token }
})

afterAll(() => stack.close())

async function accept(mode: Mode, body: object): Promise<string> {
  const answer = await send(stack.gateway.url, tokens[mode], { ...validSend, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

const settled = (mode: Mode, channel: string, id: string, expected: object) =>
  expect
    .poll(async () => (await request(`${stack.gateway.url}/gw/${channel}/${id}`, { token: tokens[mode] })).body, {
      interval: 100,
    })
    .toMatchObject(expected)

const suppressions = async (recipient: string) =>
  (await stack.database.pool.query('select mode, reason from suppression where recipient = $1', [recipient])).rows

test('a simulated complaint suppresses the address for test sends alone', async () => {
  const to = 'reclama+modo@simulador.test'
  await settled('test', 'email', await accept('test', { to }), { description: 'Entregue' })
  await expect.poll(() => suppressions(to)).toEqual([{ mode: 'test', reason: 'complaint' }])
  await settled('test', 'email', await accept('test', { to }), { failureReason: 'Endereço suprimido' })
  await settled('live', 'email', await accept('live', { to }), { description: 'Entregue', failureReason: null })
})

test('a simulated bounce suppresses the address for test sends alone', async () => {
  const to = 'recusado+modo@simulador.test'
  await settled('test', 'email', await accept('test', { to }), { description: 'Falha no envio' })
  await expect.poll(() => suppressions(to)).toEqual([{ mode: 'test', reason: 'hard bounce' }])
  await settled('live', 'email', await accept('live', { to }), { description: 'Falha no envio', failureReason: null })
})

test('"não sou esta pessoa" on the page of a test send suppresses the address for test sends alone', async () => {
  const to = 'entregue+estranho@simulador.test'
  const notification = await accept('test', { to })
  await settled('test', 'email', notification, { description: 'Entregue' })
  const link = await stack.linkFor(to)
  await visit(`${link}/nao-sou-eu`, { form: filled({ notification, channel: 'email' }) })
  expect(await suppressions(to)).toEqual([{ mode: 'test', reason: 'stranger' }])
  await settled('live', 'email', await accept('live', { to }), { description: 'Entregue' })
})

test('a simulated SAIR suppresses the number for test sends alone', async () => {
  const sms = { number: '11900000008', typeSend: '2' }
  const body = { to: undefined, sms }
  await settled('test', 'sms', await accept('test', body), { description: 'Respondido' })
  expect(await suppressions('+5511900000008')).toEqual([{ mode: 'test', reason: 'opt-out' }])
  await settled('test', 'sms', await accept('test', body), { description: 'Falha no envio' })
  await settled('live', 'sms', await accept('live', body), { description: 'Respondido' })
})
