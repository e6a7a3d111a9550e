import { afterEach, expect, test } from 'vitest'
import { openPreviews } from '../../src/app/channels.js'
import { readConfig } from '../../src/app/config.js'
import { channelModules } from '../../src/channels/registry.js'
import { createTemplateRunner } from '../../src/channels/template-runner.js'
import { monthOf } from '../../src/domain/month.js'
import { readCommitted, setPrice, sumUsage } from '../../src/store/accounts/costs.js'
import { createAccount, gatewayForFile, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { endWork, refused, type Script, ScriptedCarrier, startTestWorker, type TestWorker } from '../support/gateway/lanes.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'

const { database, gateway } = await gatewayForFile()
const { pool } = database
let workers: TestWorker[] = []

afterEach(async () => {
  await endWork(pool, ...workers)
  await pool.query('delete from price')
  workers = []
})

const work = (channel: string, script?: Script): void => {
  const carrier = new ScriptedCarrier(script)
  workers.push(startTestWorker(pool, [{ carrier, channel, name: 'scripted:host' }]))
}

const number = '11987654321'
const sms = { ...validSend, to: undefined, sms: { number, typeSend: '2' } }
const address = { logradouro: 'Rua das Flores', numero: '100', bairro: 'Centro', cidade: 'São Paulo', uf: 'SP', cep: '01310100' }
const usageOf = async ({ token }: TestAccount, query = '') =>
  ((await request(`${gateway.url}/gw/usage${query}`, { token })).body as { data: Record<string, unknown> }).data
const committedOf = ({ id }: TestAccount) => readCommitted(pool, { account: id, mode: 'live' }, monthOf(new Date()).from)
const sentOf = ({ id }: TestAccount) =>
  expect.poll(async () => (await pool.query('select from delivery where account_id = $1 and sent_at is not null', [id])).rowCount)

test('usage is counted by channel and carrier, in the units that carriers charge for, at the price of the moment', async () => {
  const account = await createAccount(pool)
  await setPrice(pool, { channel: 'sms', carrier: '', price: 0.5 })
  await setPrice(pool, { channel: 'sms', carrier: 'scripted', price: 0.08 })
  work('sms', () => ({ facts: { segments: 2 } }))
  await send(gateway.url, account.token, sms)
  await sentOf(account).toBe(1)
  await setPrice(pool, { channel: 'sms', carrier: 'scripted:host', price: 0.1 })
  await send(gateway.url, account.token, sms)
  await sentOf(account).toBe(2)
  const item = { canal: 'sms', operadora: 'scripted:host', mensagens: 2, unidades: 4, unidade: 'partes', custoEstimado: 0.36 }
  const expected = { mes: monthOf(new Date()).name, custoEstimado: 0.36, teto: null, comprometido: 0, itens: [item] }
  expect(await usageOf(account)).toEqual(expected)
  await Promise.all([sumUsage(pool), sumUsage(pool)])
  expect(await usageOf(account)).toEqual(expected)
  expect(await usageOf(account, '?mes=2020-01')).toMatchObject({ itens: [], custoEstimado: 0 })
  expect(await usageOf(await createAccount(pool))).toMatchObject({ itens: [] })
})

test('7 a month that is none is 400', async () => {
  const { token } = await createAccount(pool)
  const { status, body } = await request(`${gateway.url}/gw/usage?mes=2026-13`, { token })
  expect([status, body]).toEqual([400, errorBody(400, 'O parâmetro mes deve ser um mês, como 2026-11.', 'Bad Request')])
})

test('7 a send beyond the month’s cap is refused with 402 before anything is written, however many come at once', async () => {
  const account = await createAccount(pool, { settings: { 'cost.month.cap': 1 } })
  await setPrice(pool, { channel: 'sms', carrier: '', price: 0.3 })
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(gateway.url, account.token, sms)))
  const by = (status: number) => answers.filter(answer => answer.status === status)
  expect([by(200).length, by(402).length]).toEqual([3, 7])
  expect(by(402)[0]!.body).toEqual(
    errorBody(402, expect.stringContaining('passaria do teto de R$ 1 de custo estimado'), 'Payment Required'),
  )
  expect((await pool.query('select from notification where account_id = $1', [account.id])).rowCount).toBe(3)
  expect(await committedOf(account)).toBeCloseTo(0.9)
  expect(await usageOf(account)).toMatchObject({ teto: 1, comprometido: 0.9 })
  const other = { ...validSend }
  expect((await send(gateway.url, account.token, other)).status).toBe(200)
})

test('7 the cap counts what carriers charge for: the parts of an SMS, the pages of a letter', async () => {
  const account = await createAccount(pool, { settings: { 'cost.month.cap': 100 } })
  for (const channel of ['sms', 'letter']) await setPrice(pool, { channel, carrier: '', price: 1 })
  // 140 letters that no GSM alphabet has, 67 in a part.
  const own = { ...sms, sms: { number, typeSend: '2', customMessage: 'я'.repeat(140) } }
  expect((await send(gateway.url, account.token, own)).status).toBe(200)
  expect(await committedOf(account)).toBe(3)
  const template = { nome: 'longo', tipo: 'sms', conteudo: '{{ texto }}' }
  await request(`${gateway.url}/gw/templates`, { token: account.token, method: 'POST', body: template })
  const filled = { ...sms, sms: { number, typeSend: '2', template: 'longo', variables: { texto: 'a'.repeat(400) } } }
  expect((await send(gateway.url, account.token, filled)).status).toBe(200)
  expect(await committedOf(account)).toBe(6)
  const letter = { ...validSend, to: undefined, content: '<p>Aviso</p>'.repeat(100), carta: { variables: address } }
  expect((await send(gateway.url, account.token, letter)).status).toBe(200)
  expect(await committedOf(account)).toBeGreaterThanOrEqual(8)
  // What would be refused costs nothing.
  const lost = { ...sms, sms: { ...filled.sms, variables: { texto: 'a'.repeat(2_000) } } }
  const before = await committedOf(account)
  expect((await send(gateway.url, account.token, lost)).status).toBe(200)
  expect(await committedOf(account)).toBe(before)
})

test('what is not sent after all gives back what it had bound, and a second call binds again', async () => {
  const account = await createAccount(pool, { settings: { 'cost.month.cap': 1 } })
  for (const channel of ['sms', 'voice']) await setPrice(pool, { channel, carrier: '', price: 0.6 })
  const body = { ...validSend, sms: { number } }
  const { idEmail } = (await send(gateway.url, account.token, body)).body as { idEmail: string }
  expect((await send(gateway.url, account.token, body)).status).toBe(402)
  await request(`${gateway.url}/regua-notificacao/finalizar/${idEmail}`, { token: account.token })
  await expect.poll(() => committedOf(account)).toBeCloseTo(0)
  await sumUsage(pool)
  expect(await committedOf(account)).toBeCloseTo(0)
  work('sms', () => Promise.reject(refused('permanent')))
  expect((await send(gateway.url, account.token, sms)).status).toBe(200)
  await expect.poll(() => committedOf(account)).toBeCloseTo(0)
  await sumUsage(pool)
  const call = { ...validSend, to: undefined, voz: { number } }
  const called = ((await send(gateway.url, account.token, call)).body as { idEmail: string }).idEmail
  const fact = { channel: 'voice', type: 'again', at: new Date(), source: 'report:x', data: { ordinal: 1 } } as const
  await workers[0]!.recorder.record({ kind: 'fact', notification: called, fact })
  expect(await committedOf(account)).toBeCloseTo(1.2)
})

test('what was given back a moment ago is room at once', async () => {
  const account = await createAccount(pool, { settings: { 'cost.month.cap': 1 } })
  await setPrice(pool, { channel: 'sms', carrier: '', price: 0.6 })
  const body = { ...validSend, sms: { number } }
  const { idEmail } = (await send(gateway.url, account.token, body)).body as { idEmail: string }
  expect((await send(gateway.url, account.token, body)).status).toBe(402)
  await request(`${gateway.url}/regua-notificacao/finalizar/${idEmail}`, { token: account.token })
  await expect.poll(() => committedOf(account)).toBeCloseTo(0)
  expect((await send(gateway.url, account.token, sms)).status).toBe(200)
  expect((await send(gateway.url, account.token, sms)).status).toBe(402)
  expect(await committedOf(account)).toBeCloseTo(0.6)
})

test('a repeated request binds nothing twice', async () => {
  const account = await createAccount(pool, { settings: { 'cost.month.cap': 10 } })
  await setPrice(pool, { channel: 'sms', carrier: '', price: 0.3 })
  const headers = { 'idempotency-key': 'teto-1' }
  for (let times = 0; times < 3; times++) expect((await send(gateway.url, account.token, sms, headers)).status).toBe(200)
  expect(await committedOf(account)).toBeCloseTo(0.3)
})

test('a send of an account without a cap asks nothing about costs', async () => {
  const account = await createAccount(pool)
  await setPrice(pool, { channel: 'sms', carrier: '', price: 1_000 })
  const named: string[] = []
  pool.on('acquire', client => {
    const { query } = client
    client.query = ((...args: unknown[]) => {
      const asked = args[0] as string | { text: string }
      named.push(typeof asked === 'string' ? asked : asked.text)
      return (query as (...rest: unknown[]) => unknown).apply(client, args)
    }) as typeof client.query
  })
  expect((await send(gateway.url, account.token, sms)).status).toBe(200)
  expect(named.filter(text => text.includes('cost_month'))).toEqual([])
  expect(await committedOf(account)).toBe(0)
})

test('every channel whose carriers charge by another unit than the message counts its units before a send is accepted', async () => {
  const templates = createTemplateRunner()
  const previews = await openPreviews(readConfig({}), { keys: testKeys, pool, clock: Date.now, templates })
  for (const { channel, cost } of channelModules)
    expect([channel, previews.get(channel)!.countUnits !== undefined]).toEqual([channel, cost.counts !== undefined])
  await Promise.all([templates.close(), ...[...previews.values()].map(preview => preview.close?.())])
})
