import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../../src/app/process/demo.js'
import { firstSend } from '../../../src/channels/first-send.js'
import type { SimulatedInbox, SimulatedMessage, Simulator } from '../../../src/http/console/simulator/simulator-schema.js'
import { type ConsoleClient, consoleClient } from '../../support/gateway/console.js'
import { createAccount, gatewayForTest, testKeys } from '../../support/gateway/gateway.js'
import { request, send } from '../../support/gateway/requests.js'
import { type Stack, startStack } from '../../support/gateway/stack.js'

/** The simulator inside the console: five channels, each as its recipient meets it. */
let stack: Stack
let operator: ConsoleClient
let stranger: ConsoleClient
let id: string

beforeAll(async () => {
  stack = await startStack()
  const { pool } = stack.database
  await createDemo(pool)
  const { url } = stack.gateway
  operator = await consoleClient(pool, url)
  const other = await createAccount(pool)
  stranger = await consoleClient(pool, url, { email: 'outra@example.com', role: 'sender', account: other.id })
  const answer = await send(url, (await demoToken(pool, testKeys))!, await firstSend(Date.now()))
  id = (answer.body as { idEmail: string }).idEmail
})
afterAll(() => stack?.close())

const inbox = async (client = operator): Promise<SimulatedInbox['messages']> =>
  ((await client.get(`/simulator/messages?notification=${id}`)).body as SimulatedInbox).messages
const open = async (channel: string): Promise<SimulatedMessage> => {
  const { id: message } = (await inbox()).find(found => found.channel === channel)!
  return (await operator.get(`/simulator/messages/${message}`)).body as SimulatedMessage
}

test('each channel’s message has the shape of its device, and its file plays or shows', async () => {
  await expect.poll(async () => (await inbox()).length).toBe(5)
  const shapes = await Promise.all(['email', 'sms', 'whatsapp', 'voz', 'carta'].map(async name => (await open(name)).shape))
  expect(shapes).toEqual(['mail', 'bubble', 'bubble', 'call', 'sheet'])
  const mail = await open('email')
  expect(mail.link).toMatch(`${stack.gateway.url}/n/`)
  const files = async (message: SimulatedMessage, path: string) =>
    fetch(`${stack.gateway.url}/console/api/simulator/messages/${message.id}/${path}`, { headers: { cookie: operator.cookie } })
  const page = await files(mail, 'page')
  expect(page.headers.get('content-security-policy')).toMatch(/img-src data:;.*sandbox$/)
  const letter = await open('carta')
  expect((await files(letter, `files/${letter.file}`)).headers.get('content-type')).toBe('application/pdf')
  await expect.poll(async () => (await open('voz')).lines.length).toBeGreaterThan(0)
  const call = await open('voz')
  expect((await files(call, `files/${call.file}`)).headers.get('content-type')).toBe('audio/wav')
  const raw = await files(mail, 'files/raw')
  expect(raw.headers.get('content-type')).toBe('application/octet-stream')
  expect(raw.headers.get('content-disposition')).toMatch(/^attachment/)
  for (const path of ['files/..%2F..%2Fcarriers', 'files/nada', 'files/attachments/99'])
    expect((await files(mail, path)).status, path).toBe(404)
})

test('a person answers for the recipient, and the notification shows it', async () => {
  const sms = await open('sms')
  expect(sms.actions.find(({ name }) => name === 'reply')).toMatchObject({ text: { label: expect.any(String) } })
  const path = `/simulator/messages/${sms.id}/actions`
  expect((await operator.post(path, { action: 'reply', text: 'Recebi, <b>obrigada</b>' })).status).toBe(200)
  await expect
    .poll(async () => JSON.stringify((await operator.get(`/notifications/${id}`)).body))
    .toContain('Recebi, <b>obrigada</b>')
  const refused = await operator.post(path, { action: 'voar' })
  expect([refused.status, Object.keys(refused.body as object)]).toEqual([400, ['statusCode', 'message', 'error']])
})

test('failures are switched on and off by operators, and every act is in the log of actions', async () => {
  const faults = async () =>
    ((await operator.get('/simulator')).body as Simulator).channels.find(({ channel }) => channel === 'sms')!.faults
  expect((await faults()).filter(({ isOn }) => isOn)).toEqual([])
  const set = (client: ConsoleClient, outage: boolean) => client.put('/simulator/faults', { channel: 'sms', values: { outage } })
  expect((await set(operator, true)).status).toBe(200)
  expect((await faults()).filter(({ isOn }) => isOn).map(({ name }) => name)).toEqual(['outage'])
  expect((await set(operator, false)).status).toBe(200)
  expect((await set(stranger, true)).status).toBe(403)
  const { rows } = await stack.database.pool.query("select action from audit where action like 'simulator %' order by id")
  expect(rows.map(({ action }) => action)).toEqual(['simulator act', 'simulator act', 'simulator faults', 'simulator faults'])
})

test('a sender meets no message of another account, by list or by id', async () => {
  expect(await inbox(stranger)).toEqual([])
  const [message] = await inbox()
  for (const path of ['', '/page', '/files/raw'])
    expect((await stranger.get(`/simulator/messages/${message!.id}${path}`)).status, path).toBe(404)
  expect((await stranger.post(`/simulator/messages/${message!.id}/actions`, { action: 'reply', text: 'x' })).status).toBe(404)
  expect((await stranger.delete('/simulator/messages')).status).toBe(403)
})

test('messages of others take no place in the inbox of an account', async () => {
  const { simulator, gateway, database } = stack
  const { rows } = await database.pool.query('select account_id from notification where id = $1', [id])
  const account: string = rows[0].account_id
  const sender = await consoleClient(database.pool, gateway.url, { email: 'dona@example.com', role: 'sender', account })
  const headers = { authorization: `Bearer ${simulator.key}` }
  const body = {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: '5531900000001',
    type: 'template',
    template: { name: 'aviso', language: { code: 'pt_BR' }, components: [] },
    biz_opaque_callback_data: 'de fora',
  }
  for (let times = 0; times < 201; times++)
    expect((await request(`${simulator.url}/v23.0/106540352242922/messages`, { method: 'POST', headers, body })).status).toBe(200)
  const list = async (client: ConsoleClient, query = '') =>
    ((await client.get(`/simulator/messages${query}`)).body as SimulatedInbox).messages.map(({ notification }) => notification)
  expect(await list(sender)).toEqual(Array(5).fill(id))
  // An operator sees all, up to a limit, or those of the account that the header chooses.
  expect((await list(operator)).filter(Boolean)).toEqual([])
  expect(await list(operator, `?account=${account}`)).toEqual(Array(5).fill(id))
  expect((await stranger.get(`/simulator/messages?account=${account}`)).status).toBe(404)
})

test('where the simulator is off or away, the console says so', async () => {
  const { pool } = stack.database
  const off = await gatewayForTest(pool, { SIMULATOR: 'off' })
  const person = await consoleClient(pool, off.url, { email: 'sem@example.com' })
  expect((await person.get('/simulator')).status).toBe(404)
  const away = await gatewayForTest(pool, {
    SIMULATOR: 'on',
    SIMULATOR_URL: 'http://127.0.0.1:9',
    SIMULATOR_KEY: 'ab'.repeat(16),
  })
  const waiting = await consoleClient(pool, away.url, { email: 'espera@example.com' })
  expect((await waiting.get('/simulator')).status).toBe(503)
})
